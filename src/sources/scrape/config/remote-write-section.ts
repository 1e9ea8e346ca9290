/** One entry of `remote_write`: where samples are sent, and its queue and retries. */
import * as v from "valibot";
import {
  count,
  duration,
  goUrl,
  mappingOf,
  scalar,
  yamlBoolean,
} from "../../../config/yaml/fields.ts";
import { isWebAddress } from "../../../config/yaml/go-url.ts";
import { checkHeaderName, httpEntries, readHttp } from "./http-section.ts";
import type { ConfigPath, ConfigDiagnostics } from "../../../config/yaml/diagnostics.ts";
import { readRules, rulesSchema } from "./formats-section.ts";
import type { RemoteWriteConfig } from "./types.ts";
import {
  unsupportedEntries,
  unsupportedRemoteWriteKeys,
  reportUnsupported,
} from "./unsupported.ts";

const messages = {
  "prometheus.WriteRequest": "1.0",
  "io.prometheus.write.v2.Request": "2.0",
} as const;
const messageNames = Object.keys(messages) as (keyof typeof messages)[];

export const remoteWriteSchema = v.strictObject({
  url: goUrl(),
  name: v.optional(scalar(), ""),
  remote_timeout: v.optional(duration(1), "30s"),
  headers: mappingOf(scalar()),
  write_relabel_configs: rulesSchema(),
  protobuf_message: v.optional(
    v.picklist(messageNames, `one of ${messageNames.join(", ")}`),
    "prometheus.WriteRequest",
  ),
  queue_config: v.optional(
    v.strictObject({
      // With 0 nothing would be sent, or it would be sent without a pause: Prometheus loads the value and fails at the first sample.
      capacity: v.optional(count(1), "10000"),
      min_shards: v.optional(count(1), "1"),
      max_shards: v.optional(count(1), "50"),
      max_samples_per_send: v.optional(count(1), "2000"),
      batch_send_deadline: v.optional(duration(1), "5s"),
      min_backoff: v.optional(duration(1), "30ms"),
      max_backoff: v.optional(duration(1), "5s"),
      retry_on_http_429: v.optional(yamlBoolean(), false),
      sample_age_limit: v.optional(duration(), "0"),
    }),
    {},
  ),
  metadata_config: v.optional(
    v.strictObject({
      send: v.optional(yamlBoolean(), true),
      send_interval: v.optional(duration(1), "1m"),
      max_samples_per_send: v.optional(count(1), "2000"),
    }),
    {},
  ),
  send_exemplars: v.optional(yamlBoolean(), false),
  send_native_histograms: v.optional(yamlBoolean(), false),
  ...httpEntries,
  ...unsupportedEntries(unsupportedRemoteWriteKeys),
});

type Raw = v.InferOutput<typeof remoteWriteSchema>;

export function readRemoteWrite(
  raw: readonly Raw[],
  reading: ConfigDiagnostics,
): RemoteWriteConfig[] {
  const names = new Set<string>();
  return raw.flatMap((one, index) => {
    const path: ConfigPath = ["remote_write", index];
    if (one.name !== "" && names.has(one.name))
      reading.wrong([...path, "name"], `there are two of the name "${one.name}".`);
    const { part, inactive } = reading.part("Nothing is sent there.", () => {
      if (!isWebAddress(one.url))
        reading.refuses([...path, "url"], "it needs a URL that begins with http:// or https://.");
      const name = one.name === "" ? nameOf(one.url, names) : one.name;
      return readOne(one, name, reading, path);
    });
    names.add(part.name);
    return inactive === undefined ? [part] : [];
  });
}

/** Host and path, with a number if several entries have the same; never a part of the URL that may be a secret. */
function nameOf(url: string, names: ReadonlySet<string>): string {
  const { host, pathname } = isWebAddress(url) ? new URL(url) : { host: "inactive", pathname: "" };
  const base = `${host}${pathname}`;
  for (let number = 1; ; number++) {
    const name = number === 1 ? base : `${base} ${number}`;
    if (!names.has(name)) return name;
  }
}

function readOne(
  raw: Raw,
  name: string,
  reading: ConfigDiagnostics,
  path: ConfigPath,
): RemoteWriteConfig {
  reportUnsupported(unsupportedRemoteWriteKeys, raw, reading, path);
  const given: Readonly<Record<string, unknown>> = raw;
  const logins = ["basic_auth", "authorization", "oauth2", "sigv4", "azuread", "google_iam"];
  reading.onlyOne(path, Object.fromEntries(logins.map((key) => [key, given[key]])));
  for (const header of Object.keys(raw.headers))
    checkHeaderName(header, reading, [...path, "headers"]);
  const { queue_config: queue, metadata_config: metadata } = raw;
  const here = [...path, "queue_config"];
  if (queue.max_shards < queue.min_shards)
    reading.remark([...here, "min_shards"], "it is above max_shards, which is used.");
  if (queue.max_backoff < queue.min_backoff)
    reading.remark([...here, "min_backoff"], "it is above max_backoff, which is used.");
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
    sendsExemplars: raw.send_exemplars,
    // As in Prometheus, version 2.0 always sends them.
    sendsHistograms: raw.send_native_histograms || messages[raw.protobuf_message] === "2.0",
    queue: {
      capacity: queue.capacity,
      minShards: Math.min(queue.min_shards, queue.max_shards),
      maxShards: queue.max_shards,
      maxSamplesPerSend: queue.max_samples_per_send,
      batchSendDeadlineMs: queue.batch_send_deadline,
      minBackoffMs: Math.min(queue.min_backoff, queue.max_backoff),
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
