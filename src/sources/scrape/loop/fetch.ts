/** Fetches a target's page: one request, within the timeout and the size limit. */
import { systemCode } from "../../../base/error.ts";
import type { ExpositionFormat } from "../../../formats/exposition/visit.ts";
import type { HttpClient } from "../../../net/http/client.ts";
import {
  HttpRequestError,
  type HttpResponse,
  request,
  type RequestOptions,
} from "../../../net/http/request.ts";
import type { ScrapeConfig } from "../config/types.ts";
import type { Target } from "../targets/target.ts";

export interface FetchedPage {
  readonly body: Buffer;
  readonly contentType: string | undefined;
  readonly status: number;
}

export class BodyTooLargeError extends Error {}

const types: Readonly<Record<ExpositionFormat, readonly string[]>> = {
  protobuf: [
    "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited",
  ],
  openmetrics: [
    "application/openmetrics-text;version=1.0.0",
    "application/openmetrics-text;version=0.0.1",
  ],
  text: ["text/plain;version=0.0.4"],
};

/** The preferred format first; any other format is accepted too. */
export function acceptHeader(formats: readonly ExpositionFormat[]): string {
  const wanted = formats.flatMap((format) => types[format]);
  const weighed = wanted.map((type, at) => {
    const weight = Number((1 - at / (wanted.length + 1)).toFixed(2));
    return at === 0 ? type : `${type};q=${weight}`;
  });
  return [...weighed, "*/*;q=0.1"].join(",");
}

/** The Accept header per format list, computed once. */
const acceptHeaders = new WeakMap<readonly ExpositionFormat[], string>();

function knownAcceptHeader(formats: readonly ExpositionFormat[]): string {
  let header = acceptHeaders.get(formats);
  if (header === undefined) acceptHeaders.set(formats, (header = acceptHeader(formats)));
  return header;
}

/** The parts of a target's requests that repeat, computed once. */
interface PreparedRequest {
  readonly config: ScrapeConfig;
  /** Of the client: credentials may change. */
  readonly given: Readonly<Record<string, string>>;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
}

const prepared = new WeakMap<Target, PreparedRequest>();

function prepare(
  target: Target,
  config: ScrapeConfig,
  given: Readonly<Record<string, string>>,
  version: string,
): PreparedRequest {
  const known = prepared.get(target);
  if (known?.config === config && known.given === given) return known;
  const made = {
    config,
    given,
    url: new URL(target.url),
    headers: {
      accept: knownAcceptHeader(config.formats),
      "accept-encoding": config.enableCompression ? "gzip" : "identity",
      "user-agent": `gpulse/${version}`,
      "x-prometheus-scrape-timeout-seconds": String(target.timeoutMs / 1_000),
      ...given,
    },
  };
  prepared.set(target, made);
  return made;
}

/** Size limit if none is configured: larger than any page, smaller than the memory. */
const maxBytes = 512 * 1024 * 1024;

export async function fetchPage(
  target: Target,
  config: ScrapeConfig,
  client: HttpClient,
  options: { readonly version: string; readonly signal: AbortSignal },
): Promise<FetchedPage> {
  const { headers: given, ...how } = await client.options();
  const { url, headers } = prepare(target, config, given, options.version);
  const limit = config.limits.bodyBytes;
  const answer = await once(url, {
    ...how,
    headers,
    timeoutMs: target.timeoutMs,
    // Prometheus also rejects a body exactly as large as the limit.
    maxBytes: limit > 0 ? limit - 1 : maxBytes,
    signal: options.signal,
  }).catch((thrown: unknown) => {
    if (thrown instanceof HttpRequestError && thrown.kind === "too-large")
      throw new BodyTooLargeError("body size limit exceeded", { cause: thrown });
    throw thrown;
  });
  if (answer.status !== 200)
    throw new Error(`the target answered with HTTP status ${answer.status}`);
  return { body: answer.body, contentType: answer.headers["content-type"], status: answer.status };
}

/** Retries once if the target closed an idle connection at this moment. */
async function once(url: URL, options: RequestOptions): Promise<HttpResponse> {
  const startMs = performance.now();
  try {
    return await request(url, options);
  } catch (thrown) {
    const tookMs = performance.now() - startMs;
    const wasReset =
      thrown instanceof HttpRequestError &&
      thrown.kind === "connection" &&
      ["ECONNRESET", "EPIPE"].includes(systemCode(thrown.cause) ?? "");
    const leftMs = Math.floor(options.timeoutMs - tookMs);
    if (!wasReset || leftMs <= 0 || tookMs > 1_000) throw thrown;
    return request(url, { ...options, timeoutMs: leftMs });
  }
}
