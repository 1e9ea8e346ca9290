/**
 * Decodes Kafka messages into frames. A message that cannot be decoded goes to the dead letters before the next one is read, so
 * that it is neither lost nor blocks the partition. An offset is committed only after its message has been emitted.
 */
import { AvroMessageDecoder, schemaIdOf } from "../../formats/message/avro.ts";
import { BinaryDecoder, isBinary } from "../../formats/message/binary.ts";
import { MessageDecoder, type MessageDecodeResult } from "../../formats/message/decode.ts";
import { DeadLetterProducer } from "../../net/kafka/dead-letter.ts";
import { type ClusterOptions, type KafkaTarget, targetOf } from "../../net/kafka/options.ts";
import { KafkaProducer } from "../../net/kafka/producer.ts";
import { type IncomingMessage, TopicReader } from "../../net/kafka/reader.ts";
import {
  openRegistry,
  type RegistryOptions,
  type SchemaRegistry,
  UnreadableSchemaError,
} from "../../net/kafka/registry.ts";
import type { Log } from "../../base/log.ts";
import type { Device } from "../../model/device.ts";
import type { Emit, SourceContext, SourceLag, StreamingSource } from "../source.ts";
import { type KafkaClient, loadClient } from "../../net/kafka/client.ts";
import { MissingTopicError, prepareTopics, waitForTopic } from "../../net/kafka/topic.ts";

interface KafkaSourceParts {
  readonly target: KafkaTarget;
  readonly reader: TopicReader;
  readonly producer: KafkaProducer;
  readonly letters: DeadLetterProducer;
  readonly log: Log;
  readonly registry?: SchemaRegistry | undefined;
  /** Absent if the topic exists. */
  readonly waitForTopic?: (signal: AbortSignal) => Promise<void>;
}

const closeWithinMs = 5_000;
const mostTags = 256;
/**
 * Number of hexadecimal digits of the 32 of a topic's id: enough to distinguish topics with the same name, short enough for file names.
 */
const topicIdDigits = 12;

class KafkaSource implements StreamingSource {
  readonly shape = "streaming";
  readonly sharesWork = true;
  readonly #parts: KafkaSourceParts;
  readonly #json = new MessageDecoder();
  readonly #binary = new BinaryDecoder();
  readonly #avro = new AvroMessageDecoder();
  readonly #devices = new Map<string, Device>();

  constructor(parts: KafkaSourceParts) {
    this.#parts = parts;
  }

  devices(): readonly Device[] {
    return [...this.#devices.values()];
  }

  async run(emit: Emit, signal: AbortSignal, checkpoint?: () => Promise<void>): Promise<void> {
    await this.#parts.waitForTopic?.(signal);
    if (signal.aborted) return;
    await this.#parts.reader.run(
      (message) => this.#take(message, emit, signal),
      signal,
      checkpoint,
    );
  }

  async commit(): Promise<void> {
    await this.#parts.reader.commit();
  }

  mark(): () => Promise<void> {
    const upTo = this.#parts.reader.mark();
    return () => this.#parts.reader.commit(upTo);
  }

  lag(): readonly SourceLag[] {
    const { topic } = this.#parts.target;
    return [...this.#parts.reader.lag()].map(([partition, records]) => ({
      log: topic,
      partition,
      records,
    }));
  }

  unreadRecords(): number | undefined {
    return this.#parts.reader.unread();
  }

  lettersKept(): number {
    return this.#parts.letters.kept;
  }

  async close(): Promise<void> {
    this.#parts.registry?.close();
    await this.#parts.reader.close();
    await this.#parts.producer.close(closeWithinMs);
  }

  async #take(message: IncomingMessage, emit: Emit, signal: AbortSignal): Promise<void> {
    const { target, letters, log } = this.#parts;
    const { partition, value } = message;
    const origin = {
      log: target.topic,
      logId: message.topicId.replaceAll("-", "").slice(0, topicIdDigits),
      partition,
      offset: Number(message.offset),
      since: Number(message.since),
    };
    const found = this.#decode(message, signal);
    const decoded = found instanceof Promise ? await found : found;
    if (!decoded.ok) {
      const { reason } = decoded;
      log.warn("message sent to the dead-letter topic", {
        of: target.shown,
        partition,
        offset: origin.offset,
        reason,
      });
      const content = value ?? new Uint8Array();
      await letters.keep(
        { content, reason, source: "kafka", origin },
        message.key?.toString("utf8"),
      );
      return;
    }
    const { frame, host, devices, tags } = decoded.message;
    for (const device of devices) this.#devices.set(device.uuid, device);
    await emit(frame, { origin, host, devices, ...(tags !== undefined && { tags }) });
  }

  /** Returns a promise only if a schema may have to be fetched, since millions of messages pass here. */
  #decode(
    { value, headers }: IncomingMessage,
    signal: AbortSignal,
  ): MessageDecodeResult | Promise<MessageDecodeResult> {
    const bytes = value ?? new Uint8Array();
    if (isBinary(bytes)) return this.#binary.decode(bytes, tagsOf(headers));
    const id = schemaIdOf(bytes);
    return id === undefined ? this.#json.decode(bytes) : this.#decodeAvro(bytes, id, signal);
  }

  async #decodeAvro(
    bytes: Uint8Array,
    id: number,
    signal: AbortSignal,
  ): Promise<MessageDecodeResult> {
    const { registry } = this.#parts;
    if (registry === undefined)
      return {
        ok: false,
        reason: `the message has schema ${id} of a schema registry: name it with registry=`,
      };
    try {
      return await this.#avro.decode(bytes, id, () => registry.schemaOf(id, signal));
    } catch (thrown) {
      if (!(thrown instanceof UnreadableSchemaError)) throw thrown;
      return { ok: false, reason: thrown.message };
    }
  }
}

function tagsOf(headers: IncomingMessage["headers"]): readonly string[] {
  const found = headers.find(([name]) => name?.toString("utf8") === "tags")?.[1];
  const tags = found?.toString("utf8").split(",") ?? [];
  return tags.filter((tag) => tag !== "").slice(0, mostTags);
}

/* Checks that the cluster and its topic exist, and opens the source. */

interface KafkaSourceOptions extends ClusterOptions, RegistryOptions {
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
  // Another process, or another stage of a pipeline, may be about to create the topic; a source that stops at the topic's end
  // needs it now.
  const { target, client, prepare, isMissing } = await openTopic(
    options,
    context,
    options.until === "stopped",
  );
  const { log, nowMs } = context;
  const registry = openRegistry(options, process.env, { log, nowMs, random: Math.random });
  const random = Math.random;
  const waiting = { target, log, nowMs, random };
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
  return new KafkaSource({
    target,
    reader,
    producer,
    letters,
    log,
    registry,
    ...(isMissing && { waitForTopic: (signal) => waitForTopic(client, waiting, signal) }),
  });
}

/** @throws GpulseError if no broker responds in time, or the topic is missing although it is required */
export async function openTopic(
  options: ClusterOptions & { readonly timeout: number },
  { nowMs }: SourceContext,
  mayBeMissing = false,
): Promise<{
  readonly isMissing: boolean;
  readonly target: KafkaTarget;
  readonly client: KafkaClient;
  readonly prepare: (topic: string) => Promise<void>;
}> {
  const target = targetOf(options, process.env);
  const client = await loadClient();
  const preparing = { target, withinMs: options.timeout, nowMs, random: Math.random };
  const isMissing = await prepareTopics(client, {
    ...preparing,
    topics: [target.topic],
    create: undefined,
  }).then(
    () => false,
    (thrown: unknown) => {
      if (mayBeMissing && thrown instanceof MissingTopicError) return true;
      throw thrown;
    },
  );
  const create = { partitions: 1, replication: -1 };
  return {
    isMissing,
    target,
    client,
    prepare: (topic) => prepareTopics(client, { ...preparing, topics: [topic], create }),
  };
}
