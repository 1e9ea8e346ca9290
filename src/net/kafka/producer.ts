/**
 * Sends messages in order, in batches, one request at a time, and retries indefinitely. A retry sends the same batch with the same
 * sequence numbers, so that a broker that already stored it deduplicates it. Never drops a message.
 */
import type { Producer } from "@platformatic/kafka";
import { GpulseError } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import { baseOptions, closeQuietly, type KafkaClient } from "./client.ts";
import type { KafkaTarget } from "./options.ts";
import { openProducer } from "./produce.ts";
import { AheadCompressor } from "./ahead.ts";
import type { SendFailure, SendResult } from "../../base/send/batch-sender.ts";
import { BufferedSender } from "../../base/send/buffered-sender.ts";
import { isUnknownProducer, isTooLarge, toPermanentError, formatKafkaError } from "./errors.ts";

export const compressions = ["none", "gzip", "snappy", "lz4", "zstd"] as const;
export type Compression = (typeof compressions)[number];

export interface ProducerOptions {
  readonly target: KafkaTarget;
  readonly compression: Compression;
  /** All in-sync replicas, or only the leader; only `all` survives the loss of a broker. */
  readonly acks: "all" | "leader";
  readonly batchMessages: number;
  readonly batchBytes: number;
  /** How long the first message of a batch waits for more. */
  readonly lingerMs: number;
  /** Beyond this many bytes in memory `add` waits. */
  readonly heldBytes: number;
  readonly log: Log;
  readonly random: () => number;
}

export interface OutgoingMessage {
  readonly topic: string;
  readonly key: string;
  readonly value: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

interface PartitionedKey {
  readonly key: Buffer;
  /** Before the modulus by the topic's number of partitions. */
  readonly partition: number;
}

const mostKeys = 10_000;

export class KafkaProducer {
  readonly #client: KafkaClient;
  readonly #options: ProducerOptions;
  readonly #sender: BufferedSender<OutgoingMessage>;
  readonly #keys = new Map<string, PartitionedKey>();
  readonly #ahead = new AheadCompressor();
  #failures = 0;
  #producer: Producer | undefined;

  constructor(client: KafkaClient, options: ProducerOptions) {
    this.#client = client;
    this.#options = options;
    const { target, batchMessages, batchBytes, lingerMs, heldBytes, log, random } = options;
    this.#sender = new BufferedSender({
      name: target.shown,
      send: (batch) => this.#attempt(batch),
      ...(options.compression === "gzip" && {
        prepare: (batch: readonly OutgoingMessage[]) => this.#prepare(batch),
      }),
      batchItems: batchMessages,
      batchBytes,
      sizeOf,
      lingerMs,
      heldBytes,
      log,
      random,
    });
  }

  get stats(): { readonly sent: number; readonly waiting: number; readonly retries: number } {
    const { sentRecords, waiting, retries } = this.#sender.stats();
    return { sent: sentRecords, waiting, retries };
  }

  /**
   * Queues the message immediately; if there is no room for more, returns a promise that resolves when there is. Rejects
   * once sending has permanently failed.
   */
  add(message: OutgoingMessage): Promise<void> | undefined {
    return this.#sender.add([message]);
  }

  /** Resolves when the cluster has acknowledged everything added so far. */
  flush(signal?: AbortSignal): Promise<void> {
    return this.#sender.flush(signal);
  }

  /** Sends the waiting messages for at most `withinMs`; the rest is lost, and logged. */
  async close(withinMs: number): Promise<void> {
    await this.#sender.close(withinMs);
    await this.#drop();
  }

  async #attempt(batch: readonly OutgoingMessage[]): Promise<SendResult | SendFailure> {
    const { target } = this.#options;
    try {
      await this.#send(batch);
      this.#failures = 0;
      return { outcome: "sent" };
    } catch (thrown) {
      const permanent = toPermanentError(thrown, target);
      if (permanent !== undefined) return { outcome: "failed", error: permanent };
      const problem = formatKafkaError(thrown);
      if (isTooLarge(thrown))
        return batch.length > 1
          ? { outcome: "refused", problem, isTooLarge: true }
          : { outcome: "failed", error: tooLarge(batch[0], target) };
      if (isUnknownProducer(thrown)) await this.#drop();
      // After broken connections the client holds stale leaders for a while: a refresh every few attempts finds the new ones.
      if (++this.#failures % 8 === 0) this.#producer?.clearMetadata();
      return { outcome: "retry", problem };
    }
  }

  async #send(batch: readonly OutgoingMessage[]): Promise<void> {
    const { target, compression, acks } = this.#options;
    this.#producer ??= openProducer(
      this.#client,
      {
        ...baseOptions(target),
        idempotent: acks === "all",
        // The idempotent client treats fewer than two as unlimited; BufferedSender decides how long to retry.
        retries: 2,
        compression,
      },
      this.#ahead,
    );
    await this.#producer.send({
      messages: batch.map(({ topic, key, value, headers }) => ({
        topic,
        ...this.#keyOf(key),
        value,
        ...(headers !== undefined && {
          headers: new Map(
            Object.entries(headers).map(([name, text]) => [Buffer.from(name), Buffer.from(text)]),
          ),
        }),
      })),
      acks: acks === "all" ? this.#client.ProduceAcks.ALL : this.#client.ProduceAcks.LEADER,
    });
  }

  #prepare(batch: readonly OutgoingMessage[]): void {
    const topic = batch[0]?.topic;
    const isPlain = batch.every((one) => one.topic === topic && one.headers === undefined);
    if (topic === undefined || !isPlain) return;
    this.#ahead.prepare(
      topic,
      batch.map(({ key, value }) => ({ key: this.#keyOf(key).key, value })),
    );
  }

  /** Partitions keys as Kafka's own clients do, so that messages of one GPU share a partition. */
  #keyOf(text: string): PartitionedKey {
    const known = this.#keys.get(text);
    if (known !== undefined) return known;
    const key = Buffer.from(text);
    const partition = this.#client.murmur2(key) & 0x7f_ff_ff_ff;
    if (this.#keys.size >= mostKeys) this.#keys.clear();
    this.#keys.set(text, { key, partition });
    return { key, partition };
  }

  async #drop(): Promise<void> {
    const producer = this.#producer;
    this.#producer = undefined;
    if (producer !== undefined) await closeQuietly(producer);
  }
}

const sizeOf = ({ value, key }: OutgoingMessage): number => value.length + key.length + 70;

function tooLarge(message: OutgoingMessage | undefined, target: KafkaTarget): GpulseError {
  return new GpulseError(
    "KAFKA_REFUSED",
    `${target.shown}: a message of ${message?.value.length ?? 0} bytes is larger than the topic takes. Raise max.message.bytes of ${message?.topic ?? "the topic"}.`,
  );
}
