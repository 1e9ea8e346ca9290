/** Looks whether the cluster and its topic are there, and opens the source. */
import { type KafkaClient, loadClient } from "../../net/kafka/client.ts";
import { DeadLetterProducer } from "../../net/kafka/dead-letter.ts";
import { type ClusterOptions, type KafkaTarget, targetOf } from "../../net/kafka/options.ts";
import { KafkaProducer } from "../../net/kafka/producer.ts";
import { TopicReader } from "../../net/kafka/reader.ts";
import { prepareTopics } from "../../net/kafka/topic.ts";
import type { SourceContext } from "../source.ts";
import { KafkaSource } from "./source.ts";

export interface KafkaSourceOptions extends ClusterOptions {
  readonly group: string;
  readonly from: "earliest" | "latest";
  readonly until: "end" | "stopped";
  readonly session: number;
  readonly timeout: number;
}

export async function openKafkaSource(
  options: KafkaSourceOptions,
  context: SourceContext,
): Promise<KafkaSource> {
  const { target, client, prepare } = await openTopic(options, context);
  const { log, nowMs } = context;
  const random = Math.random;
  const producer = new KafkaProducer(client, {
    target,
    compression: "gzip",
    acks: "all",
    batchMessages: 1_000,
    batchBytes: 900_000,
    lingerMs: 0,
    heldBytes: 8 * 1_024 * 1_024,
    log,
    random,
  });
  const reader = new TopicReader(client, {
    target,
    group: options.group,
    from: options.from,
    untilEnd: options.until === "end",
    sessionMs: options.session,
    log,
    nowMs,
    random,
  });
  const letters = new DeadLetterProducer(target, producer, prepare);
  return new KafkaSource({ target, reader, producer, letters, log });
}

/** @throws GpulseError where no broker answers in time, or the topic is not there. */
export async function openTopic(
  options: ClusterOptions & { readonly timeout: number },
  { nowMs }: SourceContext,
): Promise<{
  readonly target: KafkaTarget;
  readonly client: KafkaClient;
  readonly prepare: (topic: string) => Promise<void>;
}> {
  const target = targetOf(options, process.env);
  const client = await loadClient();
  const preparing = { target, withinMs: options.timeout, nowMs, random: Math.random };
  await prepareTopics(client, { ...preparing, topics: [target.topic], create: undefined });
  const create = { partitions: 1, replication: -1 };
  return {
    target,
    client,
    prepare: (topic) => prepareTopics(client, { ...preparing, topics: [topic], create }),
  };
}
