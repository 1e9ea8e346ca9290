/** Opens a remote-write sink from its options, or from a `remote_write` section of a prometheus.yml. */
import path from "node:path";
import type { Sink, SinkContext } from "../../pipeline/sink.ts";
import { compileRule } from "../../formats/relabel/rule.ts";
import type { LabelSet } from "../../model/labels.ts";
import type { RemoteWriteConfig } from "../../sources/scrape/config/types.ts";
import {
  bareUrl,
  folderOf,
  httpConfigOf,
  labelsOf,
  rulesOf,
  type SamplesOptions,
  sinkOptionsOf,
  targetOf,
} from "../samples-options.ts";
import { SamplesSink } from "../samples-sink.ts";
import { RemoteWriteSender } from "./sender.ts";

export interface RemoteWriteOptions extends SamplesOptions {
  readonly version: "1" | "2";
}

export function openRemoteWrite(
  scheme: "http" | "https",
  options: RemoteWriteOptions,
  context: SinkContext,
): Sink {
  const target = targetOf(scheme, options);
  const sender = new RemoteWriteSender(
    {
      url: bareUrl(target),
      timeoutMs: options.timeout,
      http: httpConfigOf(target, options),
      version: context.version,
      nowMs: () => context.clock.nowMs(),
    },
    options.version,
    context.log,
  );
  const common = sinkOptionsOf("remote-write", target, options, context);
  const externalLabels = labelsOf(options);
  const rules = rulesOf(options).map((rule) => compileRule(rule));
  return new SamplesSink({ ...common, externalLabels, rules }, sender, context);
}

/** Limits of the spool, which replaces the shards and capacity of a prometheus.yml. */
const spoolMaxBytes = 2 ** 30;
const spoolMaxAgeMs = 7 * 86_400_000;

export function openConfiguredRemoteWrite(
  config: RemoteWriteConfig,
  externalLabels: LabelSet,
  context: SinkContext,
): Sink {
  const sender = new RemoteWriteSender(
    {
      url: config.url,
      timeoutMs: config.timeoutMs,
      http: {
        ...config.http,
        headers: [
          ...config.http.headers,
          ...Object.entries(config.headers).map(([name, value]) => ({
            name,
            values: [value],
            secrets: [],
            files: [],
          })),
        ],
      },
      version: context.version,
      nowMs: () => context.clock.nowMs(),
    },
    config.version === "2.0" ? "2" : "1",
    context.log,
  );
  const { queue } = config;
  return new SamplesSink(
    {
      name: config.name,
      spoolFolder: path.join(context.spoolDir, folderOf(config.name, config.url)),
      spoolMaxBytes,
      spoolMaxAgeMs: queue.sampleAgeLimitMs > 0 ? queue.sampleAgeLimitMs : spoolMaxAgeMs,
      batchSamples: queue.maxSamplesPerSend,
      shards: queue.minShards,
      externalLabels,
      rules: config.writeRelabelRules,
      sendsHistograms: config.sendsHistograms,
      sendsExemplars: config.sendsExemplars,
      firstPauseMs: queue.minBackoffMs,
      longestPauseMs: queue.maxBackoffMs,
    },
    sender,
    context,
  );
}
