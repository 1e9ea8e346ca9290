/** One engine's HTTP API: requests with its credentials, a deadline and a size limit; failures become StoreError or QueryError. */
import { redactCredentials } from "../../net/http/secret.ts";
import { HttpRequestError, type HttpResponse, request } from "../../net/http/request.ts";
import { HttpClient } from "../../net/http/client.ts";
import { QueryError } from "../../query/errors.ts";
import { StoreError } from "../embedded/error.ts";
import type { StoreAddress } from "./address.ts";

/** Node limits a string to about half a gigabyte; a response this large is a mistake long before that. */
export const maxEngineResponseBytes = 256 * 2 ** 20;

export interface EngineRequest {
  readonly form?: URLSearchParams;
  readonly body?: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  readonly maxBytes?: number;
  /** The response is snappy-compressed; the caller decompresses it. */
  readonly takesSnappy?: boolean;
}

export class EngineConnection {
  readonly #headers: Readonly<Record<string, string>>;
  readonly #client: HttpClient;

  constructor({ headers, http }: StoreAddress) {
    this.#headers = headers;
    this.#client = new HttpClient(http);
  }

  get(url: string, call: EngineRequest): Promise<HttpResponse> {
    return this.#send("GET", url, call, {});
  }

  /** Sends a form as the body, because matchers may exceed the length limit of a URL. */
  post(url: string, call: EngineRequest): Promise<HttpResponse> {
    return this.#send(
      "POST",
      url,
      call,
      call.form === undefined ? {} : { "content-type": "application/x-www-form-urlencoded" },
    );
  }

  close(): void {
    this.#client.close();
  }

  async #send(
    method: "GET" | "POST",
    url: string,
    call: EngineRequest,
    headers: Readonly<Record<string, string>>,
  ): Promise<HttpResponse> {
    const body = call.body ?? call.form?.toString();
    try {
      const configured = await this.#client.options();
      const answer = await request(url, {
        ...configured,
        method,
        headers: { ...headers, ...call.headers, ...this.#headers, ...configured.headers },
        timeoutMs: call.timeoutMs,
        maxBytes: call.maxBytes ?? maxEngineResponseBytes,
        ...(call.takesSnappy === true ? { undoneByCaller: "snappy" } : {}),
        ...(body === undefined ? {} : { body }),
        ...(call.signal === undefined ? {} : { signal: call.signal }),
      });
      if (answer.status < 400) return answer;
      const text = redactCredentials(answer.body.toString("utf8"), configured.headers);
      return { ...answer, body: Buffer.from(text) };
    } catch (thrown) {
      throw translateError(thrown);
    }
  }
}

function translateError(thrown: unknown): unknown {
  if (!(thrown instanceof HttpRequestError)) return thrown;
  if (thrown.kind === "aborted")
    return new QueryError("canceled", "query was canceled while the store was queried", {
      cause: thrown,
    });
  if (thrown.kind === "too-large")
    return new QueryError("execution", `${thrown.message}: ask for less`, { cause: thrown });
  return new StoreError("unavailable", `the store cannot be reached: ${thrown.message}`, {
    cause: thrown,
  });
}

/** Returns the text without its quotes if it is not valid JSON. */
function unquote(quoted: string): string {
  try {
    return String(JSON.parse(quoted));
  } catch {
    return quoted.slice(1, -1);
  }
}

/** The error text of an engine's response, short enough for a log line. */
export function wordsOf({ status, body }: HttpResponse): string {
  const text = body.subarray(0, 2_000).toString("utf8").trim();
  const error = /"error"\s*:\s*("(?:[^"\\]|\\.)*")/.exec(text)?.[1];
  const words = error === undefined ? text : unquote(error);
  return words === "" ? `HTTP ${status}` : words.replaceAll(/\s+/g, " ").slice(0, 500);
}
