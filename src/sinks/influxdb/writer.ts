/** Sends one write request to InfluxDB's v1 or v2 API. */
import { promisify } from "node:util";
import zlib from "node:zlib";
import type { HttpClientConfig } from "../../net/http/auth-config.ts";
import type { HttpResponse } from "../../net/http/request.ts";
import { GpulseError } from "../../base/error.ts";
import type { SendFailure, SendResult } from "../../base/send/batch-sender.ts";
import { SamplesPoster, retryAfterMs } from "../post.ts";

export interface WriterOptions {
  /** The write endpoint, with the database or bucket in its query. */
  readonly url: string;
  /** The v1 query endpoint; absent if no database is to be created. */
  readonly create?: { readonly url: string; readonly database: string } | undefined;
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
  #isCreated = false;

  constructor(options: WriterOptions) {
    this.#options = options;
    const { timeoutMs, http, version, nowMs, create } = options;
    this.#lines = new SamplesPoster({ url: options.url, timeoutMs, http, version, nowMs });
    this.#statements =
      create && new SamplesPoster({ url: create.url, timeoutMs, http, version, nowMs });
  }

  async write(body: string, signal: AbortSignal): Promise<SendResult | SendFailure> {
    const packed = this.#options.gzip ? await gzip(body, { level: 1 }) : Buffer.from(body);
    const answer = await this.#lines.post(
      packed,
      {
        "content-type": "text/plain; charset=utf-8",
        ...(this.#options.gzip && { "content-encoding": "gzip" }),
      },
      signal,
    );
    if ("outcome" in answer) return answer;
    if (answer.status === 404 && this.#statements !== undefined && !this.#isCreated)
      return (await this.#create(this.#statements, signal)) ?? this.write(body, signal);
    return this.#meaning(answer);
  }

  close(): void {
    this.#lines.close();
    this.#statements?.close();
  }

  /** Returns undefined once the database exists. */
  async #create(
    statements: SamplesPoster,
    signal: AbortSignal,
  ): Promise<SendResult | SendFailure | undefined> {
    const name = this.#options.create?.database ?? "";
    const form = new URLSearchParams({ q: `CREATE DATABASE "${name.replace(/[\\"]/g, "\\$&")}"` });
    const answer = await statements.post(
      Buffer.from(form.toString()),
      { "content-type": "application/x-www-form-urlencoded" },
      signal,
    );
    if ("outcome" in answer) return answer;
    if (answer.status >= 300) return this.#meaning(answer);
    this.#isCreated = true;
    return undefined;
  }

  #meaning({ status, body, headers }: HttpResponse): SendResult | SendFailure {
    const { shown, place, credentials, nowMs } = this.#options;
    const problem = `${shown} answers ${status}${formatErrorBody(body)}`;
    if (status >= 200 && status < 300) return { outcome: "sent" };
    const dropped = Number(
      /partial write:.*\bdropped=(\d+)/s.exec(body.toString("utf8"))?.[1] ?? 0,
    );
    if (status === 400 && dropped > 0) return { outcome: "sent", refusedSamples: dropped, problem };
    if (status === 400 || status === 413 || status === 422) return { outcome: "refused", problem };
    if (status === 401 || status === 403) return failed(`${problem}. ${credentials}`);
    if (status === 404)
      return failed(
        `${problem}. Is there a ${place}, and is this InfluxDB's address? Create it there first, and check the name.`,
      );
    // A redirect or an unsupported method means that this is not InfluxDB.
    if (status < 400 || status === 405)
      return failed(`${problem}. Check that this is InfluxDB's address.`);
    return {
      outcome: "retry",
      problem,
      afterMs: retryAfterMs(headers["retry-after"], nowMs()),
    };
  }
}

const failed = (problem: string): SendFailure => ({
  outcome: "failed",
  error: new GpulseError("SINK_FAILED", problem),
});

/** Extracts the message of `{"error": …}` (v1) or `{"message": …}` (v2), on one line. */
function formatErrorBody(body: Buffer): string {
  const text = body.toString("utf8");
  const quoted = /"(?:error|message)"\s*:\s*("(?:[^"\\]|\\.)*")/.exec(text)?.[1];
  const words = quoted === undefined ? text : unquote(quoted);
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
