/**
 * Sends one PutMetricData request, a signed and compressed form, and reads the XML response.
 *   Action=PutMetricData&Version=2010-08-01&Namespace=gpulse&MetricData.member.1.MetricName=gpu_power_watts&…
 */
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import zlib from "node:zlib";
import { GpulseError, formatError } from "../../base/error.ts";
import type { SendFailure, SendResult } from "../../base/send/batch-sender.ts";
import { HttpClient } from "../../net/http/client.ts";
import { HttpRequestError, type HttpResponse, request } from "../../net/http/request.ts";
import { type AwsCredentials, signedHeaders } from "../../net/http/sigv4.ts";
import { retryAfterMs } from "../post.ts";
import type { StatisticSet } from "./statistics.ts";

export interface CloudWatchWriterOptions {
  readonly url: string;
  readonly region: string;
  readonly namespace: string;
  readonly isHighResolution: boolean;
  readonly timeoutMs: number;
  readonly version: string;
  /** Called for every request, because a profile's keys may be renewed. */
  readonly credentials: () => Promise<AwsCredentials>;
  readonly nowMs: () => number;
}

const gzip = promisify(zlib.gzip);
const maxAnswerBytes = 65_536;
const contentType = "application/x-www-form-urlencoded; charset=utf-8";
const throttled =
  /^(Throttl|RequestLimitExceeded|TooManyRequests|LimitExceeded|RequestExpired|Expired)/;
const wrongLogin =
  /^(InvalidClientTokenId|UnrecognizedClient|SignatureDoesNotMatch|MissingAuthenticationToken|IncompleteSignature|AuthFailure)/;
const denied = /^(AccessDenied|NotAuthorized|OptInRequired|UnauthorizedOperation)/;

export class CloudWatchWriter {
  readonly #options: CloudWatchWriterOptions;
  readonly #client = new HttpClient({
    tls: { insecureSkipVerify: false },
    followRedirects: false,
    headers: [],
  });

  constructor(options: CloudWatchWriterOptions) {
    this.#options = options;
  }

  async put(sets: readonly StatisticSet[], signal: AbortSignal): Promise<SendResult | SendFailure> {
    const { url, region, namespace, timeoutMs, version, credentials, nowMs } = this.#options;
    const form = new URLSearchParams([
      ["Action", "PutMetricData"],
      ["Version", "2010-08-01"],
      ["Namespace", namespace],
      ...sets.flatMap((set, at) =>
        fieldsOf(set, this.#options.isHighResolution).map(([name, value]): [string, string] => [
          `MetricData.member.${at + 1}.${name}`,
          value,
        ]),
      ),
    ]);
    const body = await gzip(form.toString(), { level: 1 });
    const headers = {
      "content-type": contentType,
      "content-encoding": "gzip",
      // Lets a proxy or server that decompresses first still check the signature.
      "x-amz-content-sha256": createHash("sha256").update(body).digest("hex"),
    };
    try {
      const signed = signedHeaders(
        { method: "POST", url, headers, body, region, service: "monitoring", nowMs: nowMs() },
        await credentials(),
      );
      const answer = await request(url, {
        ...(await this.#client.options()),
        method: "POST",
        headers: { "user-agent": `gpulse/${version}`, ...signed },
        body,
        timeoutMs,
        maxBytes: maxAnswerBytes,
        signal,
      });
      return this.#meaning(answer);
    } catch (thrown) {
      if (thrown instanceof GpulseError) return { outcome: "failed", error: thrown };
      if (!(thrown instanceof HttpRequestError)) throw thrown;
      return { outcome: "retry", problem: formatError(thrown) };
    }
  }

  close(): void {
    this.#client.close();
  }

  #meaning({ status, body, headers }: HttpResponse): SendResult | SendFailure {
    if (status >= 200 && status < 300) return { outcome: "sent" };
    const xml = body.toString("utf8");
    const field = (name: string): string =>
      new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1] ?? "";
    const code = field("Code");
    const words = `${code}: ${field("Message")}`
      .replace(/[\s.]+$/, "")
      .replace(/\s+/g, " ")
      .slice(0, 300);
    const problem = `CloudWatch answers ${status}${code === "" ? "" : ` ${words}`}`;
    const afterMs = retryAfterMs(headers["retry-after"], this.#options.nowMs());
    if (throttled.test(code)) return { outcome: "retry", problem, afterMs };
    if (wrongLogin.test(code))
      return failed(
        `${problem}. Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or the profile.`,
      );
    if (denied.test(code) || status === 401 || status === 403)
      return failed(`${problem}. The credentials need the right cloudwatch:PutMetricData.`);
    if (status === 413) return { outcome: "refused", problem, isTooLarge: true };
    // For example one of the timestamps is more than two weeks old.
    if (status === 400) return { outcome: "refused", problem };
    if (status < 500 && status !== 429) return failed(`${problem}. Check region= and endpoint=.`);
    return { outcome: "retry", problem, afterMs };
  }
}

const failed = (problem: string): SendFailure => ({
  outcome: "failed",
  error: new GpulseError("SINK_FAILED", problem),
});

function fieldsOf(set: StatisticSet, isHighResolution: boolean): [name: string, value: string][] {
  const { name, dimensions, unit, timeMs, minimum, maximum, sum, count } = set;
  return [
    ["MetricName", name],
    ["Timestamp", new Date(timeMs).toISOString()],
    ["Unit", unit],
    ["StorageResolution", isHighResolution ? "1" : "60"],
    ["StatisticValues.SampleCount", String(count)],
    ["StatisticValues.Sum", String(sum)],
    ["StatisticValues.Minimum", String(minimum)],
    ["StatisticValues.Maximum", String(maximum)],
    ...dimensions.flatMap(([label, value], at): [string, string][] => [
      [`Dimensions.member.${at + 1}.Name`, label],
      [`Dimensions.member.${at + 1}.Value`, value],
    ]),
  ];
}

/** Size of a set in a request, before compression; each field counts with a four-digit member number. */
export function requestBytes(set: StatisticSet): number {
  return fieldsOf(set, false).reduce(
    (sum, [name, value]) =>
      sum + "&MetricData.member.1000.=".length + name.length + encodeURIComponent(value).length,
    0,
  );
}
