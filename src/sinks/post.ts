/** One request to a receiver of samples, and what its answer means: taken, not now, or never. */
import { GpulseError } from "../base/error.ts";
import type { HttpClientConfig } from "../net/http/auth-config.ts";
import { HttpClient } from "../net/http/client.ts";
import { formatUrl, HttpRequestError, type HttpResponse, request } from "../net/http/request.ts";
import { redactCredentials } from "../net/http/redact-credentials.ts";
import type { PostResult } from "./request-batch.ts";

export interface SamplesPosterOptions {
  readonly url: string;
  readonly timeoutMs: number;
  readonly http: HttpClientConfig;
  readonly version: string;
  readonly nowMs: () => number;
}

const maxAnswerBytes = 65_536;
/** What is wrong with the request itself. A wrong address or password is for a person to mend: what waits is kept meanwhile. */
const refusals = new Set([400, 409, 422]);

export class SamplesPoster {
  readonly #options: SamplesPosterOptions;
  readonly #client: HttpClient;
  /** As they were last sent: an answer may repeat them. */
  #sent: Readonly<Record<string, string>> = {};

  constructor(options: SamplesPosterOptions) {
    this.#options = options;
    this.#client = new HttpClient(options.http);
  }

  /** The answer where there is one and it is not about later, else what to do instead. */
  async post(
    body: Uint8Array,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<HttpResponse | PostResult> {
    const { url, timeoutMs, version } = this.#options;
    try {
      const { headers: own, ...rest } = await this.#client.options();
      this.#sent = own;
      return await request(url, {
        ...rest,
        method: "POST",
        headers: { "user-agent": `gpulse/${version}`, ...headers, ...own },
        body,
        timeoutMs,
        maxBytes: maxAnswerBytes,
        signal,
      });
    } catch (thrown) {
      if (thrown instanceof GpulseError) return later(thrown.message, false);
      if (!(thrown instanceof HttpRequestError)) throw thrown;
      // An answer that cannot be read is an answer all the same; what it said is not known.
      return later(thrown.message, !isRefusedConnection(thrown));
    }
  }

  meaning(answer: HttpResponse): PostResult {
    const { status } = answer;
    const problem = `${formatUrl(new URL(answer.url))} answers ${status}${formatResponseText(answer, this.#sent)}`;
    if (status >= 200 && status < 300) return { outcome: "taken" };
    if (status === 413) return { outcome: "too-large", problem };
    if (refusals.has(status)) return { outcome: "never", problem };
    const afterMs = retryAfterMs(answer.headers["retry-after"], this.#options.nowMs());
    return { ...later(problem, status >= 500), ...(afterMs !== undefined && { afterMs }) };
  }

  close(): void {
    this.#client.close();
  }
}

const later = (problem: string, maybeTaken: boolean) =>
  ({ outcome: "later", problem, maybeTaken }) as const;

const isRefusedConnection = (thrown: HttpRequestError): boolean =>
  thrown.kind === "connection" && /ECONNREFUSED|ENOTFOUND|EAI_AGAIN/.test(thrown.message);

/** The first words of what it says, on one line. */
function formatResponseText(
  { body }: HttpResponse,
  sent: Readonly<Record<string, string>>,
): string {
  // Hidden before it is cut: half a secret would not be known for one.
  const text = redactCredentials(body.toString("utf8"), sent)
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, 200);
  return text === "" ? "" : `: ${text}`;
}

const longestMs = 3_600_000;

/** Seconds, or a date. */
export function retryAfterMs(given: string | undefined, nowMs: number): number | undefined {
  if (given === undefined || given.trim() === "") return undefined;
  const seconds = Number(given);
  const ms = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(given) - nowMs;
  return Number.isFinite(ms) ? Math.min(longestMs, Math.max(0, ms)) : undefined;
}
