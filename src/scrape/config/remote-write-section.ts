/** One of `remote_write`: where samples go, and how patiently. */
import * as v from "valibot";
import { count, duration, mappingOf, scalar, truth, webAddress } from "./fields.ts";
import { checkHeaderName, httpEntries, readHttp } from "./http-section.ts";
import type { ConfigPath, Reading } from "./reading.ts";
import { readRules, rulesSchema } from "./relabel-section.ts";
import type { RemoteWriteConfig } from "./types.ts";
import { lackEntries, remoteWriteLacks, sayLacks } from "./unsupported.ts";

const messages = {
  "prometheus.WriteRequest": "1.0",
  "io.prometheus.write.v2.Request": "2.0",
} as const;
const messageNames = Object.keys(messages) as (keyof typeof messages)[];

export const remoteWriteSchema = v.strictObject({
  url: webAddress(),
  name: v.optional(scalar(), ""),
  remote_timeout: v.optional(duration(), "30s"),
  headers: mappingOf(scalar()),
  write_relabel_configs: rulesSchema(),
  protobuf_message: v.optional(
    v.picklist(messageNames, `one of ${messageNames.join(", ")}`),
    "prometheus.WriteRequest",
  ),
  queue_config: v.optional(
    v.strictObject({
      capacity: v.optional(count(), 10_000),
      min_shards: v.optional(count(), 1),
      max_shards: v.optional(count(), 50),
      max_samples_per_send: v.optional(count(), 2_000),
      batch_send_deadline: v.optional(duration(), "5s"),
      min_backoff: v.optional(duration(), "30ms"),
      max_backoff: v.optional(duration(), "5s"),
      retry_on_http_429: v.optional(truth(), false),
      sample_age_limit: v.optional(duration(), "0"),
    }),
    {},
  ),
  metadata_config: v.optional(
    v.strictObject({
      send: v.optional(truth(), true),
      send_interval: v.optional(duration(), "1m"),
      max_samples_per_send: v.optional(count(), 2_000),
    }),
    {},
  ),
  ...httpEntries,
  ...lackEntries(remoteWriteLacks),
});

type Raw = v.InferOutput<typeof remoteWriteSchema>;

export function readRemoteWrite(raw: readonly Raw[], reading: Reading): RemoteWriteConfig[] {
  const taken = new Set<string>();
  return raw.map((one, index) => {
    const path: ConfigPath = ["remote_write", index];
    if (one.name !== "" && taken.has(one.name))
      reading.wrong([...path, "name"], `there are two of the name "${one.name}".`);
    const name = one.name === "" ? nameOf(one.url, taken) : one.name;
    taken.add(name);
    return readOne(one, name, reading, path);
  });
}

/** Host and path, with a number where several go there; never what may be a secret in a URL. */
function nameOf(url: string, taken: ReadonlySet<string>): string {
  const { host, pathname } = new URL(url);
  const base = `${host}${pathname}`;
  for (let number = 1; ; number++) {
    const name = number === 1 ? base : `${base} ${number}`;
    if (!taken.has(name)) return name;
  }
}

function readOne(raw: Raw, name: string, reading: Reading, path: ConfigPath): RemoteWriteConfig {
  sayLacks(remoteWriteLacks, raw, reading, path);
  for (const header of Object.keys(raw.headers))
    checkHeaderName(header, reading, [...path, "headers"]);
  const { queue_config: queue, metadata_config: metadata } = raw;
  if (queue.max_shards < Math.max(1, queue.min_shards))
    reading.wrong([...path, "queue_config"], "max_shards may not be below min_shards.");
  if (queue.max_backoff < queue.min_backoff)
    reading.wrong([...path, "queue_config"], "max_backoff may not be below min_backoff.");
  return {
    url: raw.url,
    name,
    timeoutMs: raw.remote_timeout,
    headers: raw.headers,
    writeRelabelRules: readRules(raw.write_relabel_configs, reading, [
      ...path,
      "write_relabel_configs",
    ]),
    version: messages[raw.protobuf_message],
    queue: {
      capacity: queue.capacity,
      minShards: queue.min_shards,
      maxShards: queue.max_shards,
      maxSamplesPerSend: queue.max_samples_per_send,
      batchSendDeadlineMs: queue.batch_send_deadline,
      minBackoffMs: queue.min_backoff,
      maxBackoffMs: queue.max_backoff,
      retryOnRateLimit: queue.retry_on_http_429,
      sampleAgeLimitMs: queue.sample_age_limit,
    },
    metadata: {
      send: metadata.send,
      sendIntervalMs: metadata.send_interval,
      maxSamplesPerSend: metadata.max_samples_per_send,
    },
    http: readHttp(raw, reading, path),
  };
}
