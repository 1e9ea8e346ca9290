/** Opens a Kafka sink; checks that the cluster and its topic exist before the first frame. */
import { GpulseError } from "../../base/error.ts";
import { loadClient } from "../../net/kafka/client.ts";
import { type ClusterOptions, targetOf } from "../../net/kafka/options.ts";
import { type Compression, KafkaProducer } from "../../net/kafka/producer.ts";
import { prepareTopics } from "../../net/kafka/topic.ts";
import { canWriteZstd } from "../../net/kafka/compression.ts";
import type { SinkContext } from "../../pipeline/sink.ts";
import { BinaryEncoder } from "../../formats/message/binary.ts";
import { MessageEncoder } from "../../formats/message/encode.ts";
import { AvroMessageEncoder, messageAvroSchema } from "../../formats/message/avro.ts";
import { openRegistry, type RegistryOptions } from "../../net/kafka/registry.ts";
import { type EncodeMessages, KafkaSink } from "./sink.ts";

export interface KafkaSinkOptions extends ClusterOptions, RegistryOptions {
  readonly format: "json" | "avro" | "frames";
  readonly subject?: string | undefined;
  readonly register: boolean;
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

/** Memory limit for unsent messages while the cluster is unavailable; beyond it `write` waits. */
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
    encode: await encoderOf(options, target.topic, context),
    hostName: context.hostName,
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

async function encoderOf(
  options: KafkaSinkOptions,
  topic: string,
  { clock, random, log, version }: SinkContext,
): Promise<EncodeMessages> {
  const { format, register, subject = `${topic}-value`, timeout } = options;
  const nowMs = (): number => clock.nowMs();
  const registry = openRegistry(options, process.env, { log, nowMs, random });
  if ((registry !== undefined) !== (format === "avro"))
    throw new GpulseError(
      "SOURCE_OPTIONS",
      "kafka: format=avro and registry= must be used together: the registry stores the schema of the messages.",
    );
  if (registry !== undefined)
    try {
      const lookup = { subject, schema: messageAvroSchema, register, withinMs: timeout };
      const avro = new AvroMessageEncoder(await registry.idOf(lookup));
      return ({ input }) => avro.encode(input);
    } finally {
      registry.close();
    }
  if (format === "json") {
    const json = new MessageEncoder();
    const texts = new TextBuffers();
    return ({ input }) =>
      json.encode(input).map(({ key, value }) => ({ key, value: texts.encode(value) }));
  }
  const binary = new BinaryEncoder(version);
  return ({ input, source }) =>
    binary.encode(input, source).map(({ key, value, tags }) => ({
      key,
      value,
      ...(tags.length > 0 && { headers: { tags: tags.join(",") } }),
    }));
}

const textBufferBytes = 131_072;

/** Texts as bytes in shared buffers. Node's own are of 8 KiB, seven messages of a log: making them took a twentieth of the time. */
class TextBuffers {
  #buffer = Buffer.alloc(0);
  #used = 0;

  encode(text: string): Buffer {
    // UTF-8 has at most three bytes for each unit of a string.
    const most = text.length * 3;
    if (most > textBufferBytes) return Buffer.from(text);
    if (most > this.#buffer.length - this.#used) {
      this.#buffer = Buffer.allocUnsafeSlow(textBufferBytes);
      this.#used = 0;
    }
    const start = this.#used;
    this.#used += this.#buffer.write(text, start);
    return this.#buffer.subarray(start, this.#used);
  }
}
