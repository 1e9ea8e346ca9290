/** One write to InfluxDB, by its first or second API, and what the answer means: stored, refused, not now, or never. */
import { promisify } from "node:util";
import zlib from "node:zlib";
import type { HttpClientConfig } from "../../net/http/auth-config.ts";
import type { HttpResponse } from "../../net/http/request.ts";
import { SamplesPoster, retryAfterMs } from "../post.ts";

export type WriteResult =
  /** All but what the server says it dropped. */
  | { readonly outcome: "stored"; readonly dropped: number; readonly problem: string }
  /** The request, or a line of it, is not as the server wants it. */
  | { readonly outcome: "refused"; readonly problem: string }
  | { readonly outcome: "later"; readonly problem: string; readonly afterMs?: number }
  /** Nothing will be taken before a person mends it. */
  | { readonly outcome: "failed"; readonly problem: string };

export interface WriterOptions {
  /** Where lines go, with database or bucket in its query. */
  readonly url: string;
  /** Where the first API takes `CREATE DATABASE`; absent where none is to be made. */
  readonly create?: { readonly url: string; readonly database: string };
  readonly shown: string;
  /** `database "gpu"` or `bucket "gpu"`. */
  readonly place: string;
  readonly credentials: string;
  readonly gzip: boolean;
  readonly timeoutMs: number;
  readonly http: HttpClientConfig;
  readonly version: string;
  readonly nowMs: () => number;
}

const gzip = promisify(zlib.gzip);

export class InfluxWriter {
  readonly #options: WriterOptions;
  readonly #lines: SamplesPoster;
  readonly #statements: SamplesPoster | undefined;
  #isMade = false;

  constructor(options: WriterOptions) {
    this.#options = options;
    const { timeoutMs, http, version, nowMs, create } = options;
    this.#lines = new SamplesPoster({ url: options.url, timeoutMs, http, version, nowMs });
    this.#statements =
      create && new SamplesPoster({ url: create.url, timeoutMs, http, version, nowMs });
  }

  async write(body: string, signal: AbortSignal): Promise<WriteResult> {
    const packed = this.#options.gzip ? await gzip(body, { level: 1 }) : Buffer.from(body);
    const answer = await this.#lines.post(
      packed,
      {
        "content-type": "text/plain; charset=utf-8",
        ...(this.#options.gzip && { "content-encoding": "gzip" }),
      },
      signal,
    );
    if ("outcome" in answer) return laterOf(answer.outcome === "later" ? answer.problem : "");
    if (answer.status === 404 && this.#statements !== undefined && !this.#isMade)
      return this.#make(this.#statements, signal);
    return this.#meaning(answer);
  }

  close(): void {
    this.#lines.close();
    this.#statements?.close();
  }

  async #make(statements: SamplesPoster, signal: AbortSignal): Promise<WriteResult> {
    const name = this.#options.create?.database ?? "";
    const form = new URLSearchParams({ q: `CREATE DATABASE "${name.replace(/[\\"]/g, "\\$&")}"` });
    const answer = await statements.post(
      Buffer.from(form.toString()),
      { "content-type": "application/x-www-form-urlencoded" },
      signal,
    );
    if ("outcome" in answer) return laterOf(answer.outcome === "later" ? answer.problem : "");
    if (answer.status >= 300) return this.#meaning(answer);
    this.#isMade = true;
    return { ...laterOf(`${this.#options.place} was not there and is made now`), afterMs: 0 };
  }

  #meaning({ status, body, headers }: HttpResponse): WriteResult {
    const { shown, place, credentials, nowMs } = this.#options;
    const problem = `${shown} answers ${status}${formatErrorBody(body)}`;
    if (status >= 200 && status < 300) return { outcome: "stored", dropped: 0, problem };
    const dropped = Number(
      /partial write:.*\bdropped=(\d+)/s.exec(body.toString("utf8"))?.[1] ?? 0,
    );
    if (status === 400 && dropped > 0) return { outcome: "stored", dropped, problem };
    if (status === 400 || status === 413 || status === 422) return { outcome: "refused", problem };
    if (status === 401 || status === 403)
      return { outcome: "failed", problem: `${problem}. ${credentials}` };
    if (status === 404)
      return {
        outcome: "failed",
        problem: `${problem}. Is there a ${place}, and is this InfluxDB's address? Make it there first, and check the name.`,
      };
    // A redirect that was not followed, or a method that is not known: this is no InfluxDB.
    if (status < 400 || status === 405)
      return { outcome: "failed", problem: `${problem}. Check that this is InfluxDB's address.` };
    const afterMs = retryAfterMs(headers["retry-after"], nowMs());
    return { ...laterOf(problem), ...(afterMs !== undefined && { afterMs }) };
  }
}

const laterOf = (problem: string) => ({ outcome: "later", problem }) as const;

/** `{"error": …}` of the first API, `{"message": …}` of the second, on one line. */
function formatErrorBody(body: Buffer): string {
  const text = body.toString("utf8");
  const told = /"(?:error|message)"\s*:\s*("(?:[^"\\]|\\.)*")/.exec(text)?.[1];
  const words = told === undefined ? text : unquote(told);
  const line = words.replace(/\s+/g, " ").trim().slice(0, 300);
  return line === "" ? "" : `: ${line}`;
}

function unquote(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    return text;
  }
}
