/** Looks whether the cluster and its topic are there before the first frame, and opens the sink. */
import { GpulseError } from "../../base/error.ts";
import { loadClient } from "../../net/kafka/client.ts";
import { type ClusterOptions, targetOf } from "../../net/kafka/options.ts";
import { type Compression, KafkaProducer } from "../../net/kafka/producer.ts";
import { prepareTopics } from "../../net/kafka/topic.ts";
import { canWriteZstd } from "../../net/kafka/compression.ts";
import type { SinkContext } from "../../pipeline/sink.ts";
import { KafkaSink } from "./sink.ts";

export interface KafkaSinkOptions extends ClusterOptions {
  readonly format: "json" | "frames";
  readonly compression: Compression;
  readonly acks: "all" | "1";
  readonly batch: number;
  readonly "batch-bytes": number;
  readonly linger: number;
  readonly create: boolean;
  readonly partitions: number;
  readonly replication: number;
  readonly timeout: number;
}

/** What waits in memory while the cluster is away; then `write` waits too. */
const heldBytes = 32 * 1_024 * 1_024;

export async function openKafkaSink(
  options: KafkaSinkOptions,
  context: SinkContext,
): Promise<KafkaSink> {
  const { compression, replication } = options;
  if (compression === "zstd" && !canWriteZstd())
    throw new GpulseError(
      "SOURCE_OPTIONS",
      `compression=zstd needs Node 22.15 or later, and this is ${process.version}: choose gzip, lz4 or snappy, or run a later Node.`,
    );
  if (replication === 0)
    throw new GpulseError("SOURCE_OPTIONS", "replication= must be 1 or more, or -1.");
  const target = targetOf(options, process.env);
  const client = await loadClient();
  const { clock, random, log } = context;
  const shape = { partitions: options.partitions, replication };
  const preparing = {
    target,
    withinMs: options.timeout,
    nowMs: () => clock.nowMs(),
    random,
  };
  await prepareTopics(client, {
    ...preparing,
    topics: [target.topic],
    create: options.create ? shape : undefined,
  });
  return new KafkaSink({
    target,
    format: options.format,
    hostName: context.hostName,
    version: context.version,
    producer: new KafkaProducer(client, {
      target,
      compression,
      acks: options.acks === "all" ? "all" : "leader",
      batchMessages: options.batch,
      batchBytes: options["batch-bytes"],
      lingerMs: options.linger,
      heldBytes,
      log,
      random,
    }),
    prepare: (topic) =>
      prepareTopics(client, {
        ...preparing,
        topics: [topic],
        create: { partitions: 1, replication },
      }),
  });
}
