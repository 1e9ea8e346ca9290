/**
 * One request to a service and the meaning of its response: accepted, to be retried (and when), or rejected for good. Error
 * messages show only the host of a URL, since the rest may be a secret.
 */
import { NotifyError } from "../route/notification.ts";
import type { HttpClientConfig } from "../../net/http/auth-config.ts";
import { HttpClient } from "../../net/http/client.ts";
import { HttpRequestError, type HttpResponse, request } from "../../net/http/request.ts";
import type { ChannelContext, ChannelMessage, OpenChannel } from "./channel.ts";
import type { SecretRedactor } from "./secret-redactor.ts";
import { toSingleLine } from "./notify-error.ts";

export interface NotifyRequest {
  /** POST by default. */
  readonly method?: "GET" | "POST" | "PUT";
  readonly url: string;
  readonly body?: string | undefined;
  /** application/json by default. */
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly idempotencyKey: string;
  /** A limit below that of a whole attempt. */
  readonly timeoutMs?: number | undefined;
  /** Only for a service whose body contains no secret. */
  readonly followsRedirects?: boolean;
  readonly signal: AbortSignal;
}

const longestTimeoutMs = 25_000;
const maxAnswerBytes = 1024 * 1024;
const longestRetryAfterMs = 3_600_000;

export class NotificationPoster {
  readonly #service: string;
  readonly #client: HttpClient;
  readonly #hidden: SecretRedactor;
  readonly #nowMs: () => number;

  constructor(
    service: string,
    http: HttpClientConfig,
    hidden: SecretRedactor,
    nowMs: () => number,
  ) {
    this.#service = service;
    this.#client = new HttpClient(http);
    this.#hidden = hidden;
    this.#nowMs = nowMs;
  }

  /** @throws NotifyError unless the response is a success. */
  async post(sent: NotifyRequest): Promise<HttpResponse> {
    const answer = await this.exchange(sent);
    if (answer.status >= 200 && answer.status < 300) return answer;
    throw this.refused(answer, `answered ${answer.status}`);
  }

  /** The error with the text of the response. */
  refused(answer: HttpResponse, what: string): NotifyError {
    const { status } = answer;
    const redirected = status >= 300 && status < 400;
    // Redacted before it is cut: half a secret would not be recognized.
    const message = toSingleLine(this.#hidden.hide(answer.body.toString("utf8")), 200);
    const next = redirected ? ": it sends requests elsewhere; give its new address" : "";
    const retryable = [408, 425, 429].includes(status) || status >= 500;
    const retryAfterMs = retryable ? retryAfterOf(answer, this.#nowMs()) : undefined;
    return new NotifyError(
      `${this.#service} ${what}${next}${message === "" || redirected ? "" : `: ${message}`}`,
      { retryable, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
    );
  }

  close(): void {
    this.#client.close();
  }

  /** Returns any response, whatever its status. @throws HttpRequestError if there is none. */
  async exchange(sent: NotifyRequest): Promise<HttpResponse> {
    const { url, body, headers, idempotencyKey, timeoutMs, followsRedirects, signal } = sent;
    const options = await this.#client.options();
    this.#hideCredentials(options.headers["authorization"]);
    const { maxRedirects } = options;
    try {
      return await request(url, {
        method: sent.method ?? "POST",
        ...(body === undefined ? {} : { body }),
        signal,
        agent: options.agent,
        timeoutMs: Math.min(timeoutMs ?? longestTimeoutMs, longestTimeoutMs),
        maxBytes: maxAnswerBytes,
        headers: {
          ...(body === undefined ? {} : { "content-type": sent.contentType ?? "application/json" }),
          "user-agent": "gpulse",
          ...options.headers,
          // A channel's own token takes precedence over the global section.
          ...headers,
          "idempotency-key": idempotencyKey,
        },
        ...(followsRedirects === true && maxRedirects !== undefined ? { maxRedirects } : {}),
      });
    } catch (thrown) {
      if (!(thrown instanceof HttpRequestError)) throw thrown;
      const { origin, pathname } = new URL(url);
      const sentence = thrown.message.replaceAll(`${origin}${pathname}`, origin);
      throw new HttpRequestError(thrown.kind, `${this.#service}: ${sentence}`);
    }
  }

  #hideCredentials(authorization: string | undefined): void {
    const [, type = "", credentials = ""] = /^(\S+) (.*)$/s.exec(authorization ?? "") ?? [];
    this.#hidden.add(credentials);
    if (type !== "Basic") return;
    const pair = Buffer.from(credentials, "base64").toString("utf8");
    this.#hidden.add(pair.slice(pair.indexOf(":") + 1));
  }
}

/** Retry-After in seconds or as a date, or Discord's and Telegram's field in the response body. */
function retryAfterOf({ headers, body }: HttpResponse, nowMs: number): number | undefined {
  const header = headers["retry-after"];
  const afterMs =
    header === undefined
      ? retryAfterSeconds(body) * 1_000
      : /^\d+(\.\d+)?$/.test(header)
        ? Number(header) * 1_000
        : Date.parse(header) - nowMs;
  return Number.isFinite(afterMs)
    ? Math.min(longestRetryAfterMs, Math.max(1_000, Math.ceil(afterMs)))
    : undefined;
}

function retryAfterSeconds(body: Buffer): number {
  try {
    const message = JSON.parse(body.toString("utf8")) as {
      readonly retry_after?: unknown;
      readonly parameters?: { readonly retry_after?: unknown };
    } | null;
    return Number(message?.retry_after ?? message?.parameters?.retry_after);
  } catch {
    return Number.NaN;
  }
}

/** A channel that sends each notification as one request. */
export function openHttpChannel(
  service: string,
  http: HttpClientConfig,
  { hidden, nowMs }: Pick<ChannelContext, "hidden" | "nowMs">,
  requestOf: (message: ChannelMessage) => Promise<Omit<NotifyRequest, "idempotencyKey" | "signal">>,
): OpenChannel {
  const poster = new NotificationPoster(service, http, hidden, nowMs);
  return {
    send: async (message, signal) => {
      const { idempotencyKey } = message.notification;
      await poster.post({ ...(await requestOf(message)), idempotencyKey, signal });
    },
    close: () => poster.close(),
  };
}
