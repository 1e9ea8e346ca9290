/** Sends one HTTP request to a receiver of samples and classifies its outcome. */
import { GpulseError } from "../base/error.ts";
import type { HttpClientConfig } from "../net/http/auth-config.ts";
import { HttpClient } from "../net/http/client.ts";
import { formatUrl, HttpRequestError, type HttpResponse, request } from "../net/http/request.ts";
import { redactCredentials } from "../net/http/secret.ts";
import type { SendResult } from "../base/send/batch-sender.ts";

export interface SamplesPosterOptions {
  readonly url: string;
  readonly timeoutMs: number;
  readonly http: HttpClientConfig;
  readonly version: string;
  readonly nowMs: () => number;
}

const maxAnswerBytes = 65_536;
/** Statuses of a bad request. A wrong address or password is for the user to fix, and the samples stay pending. */
const refusals = new Set([400, 409, 422]);

export class SamplesPoster {
  readonly #options: SamplesPosterOptions;
  readonly #client: HttpClient;
  /** The headers last sent, because a response may quote them. */
  #sent: Readonly<Record<string, string>> = {};

  constructor(options: SamplesPosterOptions) {
    this.#options = options;
    this.#client = new HttpClient(options.http);
  }

  /**
   * Returns the response, or the outcome if there was none.
   * @param url for a request with a query of its own
   */
  async post(
    body: Uint8Array,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
    url = this.#options.url,
  ): Promise<HttpResponse | SendResult> {
    const { timeoutMs, version } = this.#options;
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
      if (thrown instanceof GpulseError) return retry(thrown.message, false);
      if (!(thrown instanceof HttpRequestError)) throw thrown;
      // A response that cannot be read may have been a success.
      return retry(thrown.message, !isRefusedConnection(thrown));
    }
  }

  meaning(answer: HttpResponse): SendResult {
    const { status } = answer;
    const problem = `${formatUrl(new URL(answer.url))} answers ${status}${formatResponseText(answer, this.#sent)}`;
    if (status >= 200 && status < 300) return { outcome: "sent" };
    if (status === 413) return { outcome: "refused", problem, isTooLarge: true };
    if (refusals.has(status)) return { outcome: "refused", problem };
    const afterMs = retryAfterMs(answer.headers["retry-after"], this.#options.nowMs());
    return { ...retry(problem, status >= 500), afterMs };
  }

  close(): void {
    this.#client.close();
  }
}

const retry = (problem: string, maybeSent: boolean) =>
  ({ outcome: "retry", problem, maybeSent }) as const;

const isRefusedConnection = (thrown: HttpRequestError): boolean =>
  thrown.kind === "connection" && /ECONNREFUSED|ENOTFOUND|EAI_AGAIN/.test(thrown.message);

/** The first 200 characters of the body, on one line. */
function formatResponseText(
  { body }: HttpResponse,
  sent: Readonly<Record<string, string>>,
): string {
  // Redacts before cutting: half a secret would not be recognised.
  const text = redactCredentials(body.toString("utf8"), sent)
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, 200);
  return text === "" ? "" : `: ${text}`;
}

const longestMs = 3_600_000;

/** Parses seconds or a date. */
export function retryAfterMs(given: string | undefined, nowMs: number): number | undefined {
  if (given === undefined || given.trim() === "") return undefined;
  const seconds = Number(given);
  const ms = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(given) - nowMs;
  return Number.isFinite(ms) ? Math.min(longestMs, Math.max(0, ms)) : undefined;
}
