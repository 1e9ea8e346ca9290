/** Opens a CloudWatch sink from its options: the metrics, the region and the credentials. */
import type * as v from "valibot";
import { GpulseError, formatError } from "../../base/error.ts";
import { BufferedSender } from "../../base/send/buffered-sender.ts";
import type { Env } from "../../config/secrets.ts";
import { findMetric, type MetricEntry } from "../../model/catalogue/index.ts";
import { amazonDomain, findAwsCredentials } from "../../net/http/aws-credentials.ts";
import type { AwsCredentials } from "../../net/http/sigv4.ts";
import type { SinkContext } from "../../pipeline/sink.ts";
import type { cloudWatchOptions } from "./define.ts";
import { CloudWatchSink } from "./sink.ts";
import { type StatisticSet, Statistics } from "./statistics.ts";
import { CloudWatchWriter, requestBytes } from "./writer.ts";

type CloudWatchOptions = v.InferOutput<typeof cloudWatchOptions>;

/** Amazon's limits for one request, with room for its other fields. */
const batchItems = 1_000;
const batchBytes = 1_000_000;
/** Memory limit for unsent statistics while CloudWatch is unavailable; beyond it `write` waits. */
const heldBytes = 32 * 2 ** 20;
const minuteMs = 60_000;

export async function openCloudWatchSink(
  options: CloudWatchOptions,
  { clock, log, random, hostName, version }: SinkContext,
  env: Env = process.env,
): Promise<CloudWatchSink> {
  const { namespace, period: periodMs } = options;
  const region = options.region ?? env["AWS_REGION"] ?? env["AWS_DEFAULT_REGION"];
  if (region === undefined || !/^[a-z0-9-]{1,40}$/.test(region))
    throw new GpulseError(
      "SOURCE_OPTIONS",
      "CloudWatch needs a region: give region=eu-central-1, or set AWS_REGION.",
    );
  const credentials = (): Promise<AwsCredentials> => readCredentials(env, options.profile);
  await credentials();
  const writer = new CloudWatchWriter({
    url: urlOf(options.endpoint, region),
    region,
    namespace,
    isHighResolution: periodMs < minuteMs,
    timeoutMs: options.timeout,
    version,
    credentials,
    nowMs: () => clock.nowMs(),
  });
  const sender = new BufferedSender<StatisticSet>({
    name: `cloudwatch:${namespace}`,
    batchItems,
    batchBytes,
    heldBytes,
    sizeOf: requestBytes,
    send: (sets, signal) => writer.put(sets, signal),
    clock,
    log,
    random,
  });
  return new CloudWatchSink({
    name: `cloudwatch:${namespace}`,
    periodMs,
    statistics: new Statistics({ periodMs, isWanted: wantedOf(options.metrics), host: hostName }),
    sender,
    writer,
    clock,
  });
}

function urlOf(endpoint: string | undefined, region: string): string {
  if (endpoint === undefined) return `https://monitoring.${region}.${amazonDomain(region)}/`;
  if (URL.canParse(endpoint) && /^https?:$/.test(new URL(endpoint).protocol))
    return new URL("/", endpoint).href;
  throw new GpulseError(
    "SOURCE_OPTIONS",
    `endpoint=${endpoint} is not an address: write http://HOST:PORT or https://HOST:PORT.`,
  );
}

function wantedOf(metrics: string): (metric: MetricEntry) => boolean {
  if (metrics === "all") return () => true;
  const names = metrics.split(",").map((name) => name.trim());
  const unknown = names.filter((name) => findMetric(name) === undefined);
  if (unknown.length > 0)
    throw new GpulseError(
      "SOURCE_OPTIONS",
      `metrics= has ${unknown.map((name) => `"${name}"`).join(", ")}, which gpulse does not know: see docs/reference/metrics.md.`,
    );
  const wanted = new Set(names);
  return ({ name }) => wanted.has(name);
}

async function readCredentials(env: Env, profile: string | undefined): Promise<AwsCredentials> {
  try {
    const found = await findAwsCredentials(env, profile);
    if (found !== undefined) return found;
  } catch (thrown) {
    throw new GpulseError("SINK_FAILED", `The AWS profile cannot be read: ${formatError(thrown)}.`);
  }
  throw new GpulseError(
    "SINK_FAILED",
    "There are no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give profile= of ~/.aws/credentials.",
  );
}
