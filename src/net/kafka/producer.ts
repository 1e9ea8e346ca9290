/**
 * Sends messages in the order they came, in batches, one request at a time, and again for as long as it takes. A batch is sent
 * anew as it was, with the same numbers, so that a broker which had it already takes it once. Never drops a message.
 */
import type { Producer } from "@platformatic/kafka";
import { setTimeout as sleep } from "node:timers/promises";
import { GpulseError } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import { baseOptions, closeQuietly, type KafkaClient } from "./client.ts";
import type { KafkaTarget } from "./options.ts";
import { backoffMs, pause } from "../../base/retry.ts";
import { isUnknownProducer, isTooLarge, toPermanentError, formatKafkaError } from "./errors.ts";

export const compressions = ["none", "gzip", "snappy", "lz4", "zstd"] as const;
export type Compression = (typeof compressions)[number];

export interface ProducerOptions {
  readonly target: KafkaTarget;
  readonly compression: Compression;
  /** Every copy that is in step has it, or the leader alone; only the first survives the loss of a broker. */
  readonly acks: "all" | "leader";
  readonly batchMessages: number;
  readonly batchBytes: number;
  /** How long the first of a batch waits for more. */
  readonly lingerMs: number;
  /** What waits in memory before `add` does. */
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

interface Waiter {
  readonly upTo: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export class KafkaProducer {
  readonly #client: KafkaClient;
  readonly #options: ProducerOptions;
  readonly #stop = new AbortController();
  readonly #waiters = new Set<Waiter>();
  #queue: OutgoingMessage[] = [];
  #heldBytes = 0;
  #added = 0;
  #sent = 0;
  #retries = 0;
  #producer: Producer | undefined;
  #running: Promise<void> | undefined;
  #failure: Error | undefined;
  #hurry = new AbortController();

  constructor(client: KafkaClient, options: ProducerOptions) {
    this.#client = client;
    this.#options = options;
  }

  get stats(): { readonly sent: number; readonly waiting: number; readonly retries: number } {
    return { sent: this.#sent, waiting: this.#added - this.#sent, retries: this.#retries };
  }

  /** Takes it at once; resolves when there is room for more. Rejects once sending has failed for good. */
  async add(message: OutgoingMessage): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    this.#queue.push(message);
    this.#added++;
    this.#heldBytes += sizeOf(message);
    this.#running ??= this.#drain();
    if (this.#heldBytes > this.#options.heldBytes)
      await this.#until(this.#added - Math.ceil((this.#added - this.#sent) / 2));
  }

  /** Resolves when the cluster has everything added so far. */
  async flush(signal?: AbortSignal): Promise<void> {
    this.#hurry.abort();
    await this.#until(this.#added, signal);
  }

  /** Waits for what is held, for a while; what is left is lost, and said. */
  async close(withinMs: number): Promise<void> {
    if (this.#failure === undefined)
      await this.flush(AbortSignal.timeout(withinMs)).catch(() => undefined);
    this.#stop.abort();
    await Promise.race([this.#running, sleep(1_000, undefined, { ref: false })]);
    const left = this.#added - this.#sent;
    if (left > 0)
      this.#options.log.error("messages were not sent before the end", {
        to: this.#options.target.shown,
        messages: left,
      });
    await this.#drop();
  }

  async #until(upTo: number, signal?: AbortSignal): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#sent >= upTo) return;
    let stopped = (): void => {};
    try {
      await new Promise<void>((resolve, reject) => {
        const waiter: Waiter = { upTo, resolve, reject };
        this.#waiters.add(waiter);
        stopped = () => {
          if (this.#waiters.delete(waiter)) reject(new Error("stopped before all was sent"));
        };
        signal?.addEventListener("abort", stopped, { once: true });
        if (signal?.aborted === true) stopped();
      });
    } finally {
      // The signal lives as long as the pipe, and is waited with at every checkpoint.
      signal?.removeEventListener("abort", stopped);
    }
  }

  async #drain(): Promise<void> {
    const { lingerMs, batchMessages, batchBytes } = this.#options;
    try {
      while (this.#queue.length > 0 && !this.#stop.signal.aborted) {
        const isFull = this.#queue.length >= batchMessages || this.#heldBytes >= batchBytes;
        if (!isFull && lingerMs > 0 && this.#waiters.size === 0) {
          this.#hurry = new AbortController();
          await pause(lingerMs, AbortSignal.any([this.#hurry.signal, this.#stop.signal]));
        }
        const batch = this.#take(batchMessages, batchBytes);
        if (!(await this.#deliver(batch))) return;
        this.#sent += batch.length;
        for (const message of batch) this.#heldBytes -= sizeOf(message);
        for (const waiter of this.#waiters) {
          if (waiter.upTo > this.#sent) continue;
          this.#waiters.delete(waiter);
          waiter.resolve();
        }
      }
    } catch (thrown) {
      this.#failure = thrown instanceof Error ? thrown : new Error(String(thrown));
      for (const { reject } of this.#waiters) reject(this.#failure);
      this.#waiters.clear();
    } finally {
      this.#running = undefined;
    }
  }

  #take(most: number, mostBytes: number): OutgoingMessage[] {
    let bytes = 0;
    let count = 0;
    while (count < Math.min(most, this.#queue.length)) {
      bytes += sizeOf(this.#queue[count] as OutgoingMessage);
      if (count > 0 && bytes > mostBytes) break;
      count++;
    }
    const batch = this.#queue.slice(0, count);
    this.#queue = this.#queue.slice(count);
    return batch;
  }

  /** False where we were stopped before it was taken. @throws GpulseError where it never will be. */
  async #deliver(batch: readonly OutgoingMessage[]): Promise<boolean> {
    const { target, log, random } = this.#options;
    for (let attempt = 0; !this.#stop.signal.aborted; attempt++) {
      try {
        await this.#send(batch);
        if (attempt > 0) log.info("sending again", { to: target.shown });
        return true;
      } catch (thrown) {
        const refused = toPermanentError(thrown, target);
        if (refused !== undefined) throw refused;
        if (isTooLarge(thrown)) {
          if (batch.length > 1) return this.#deliverHalves(batch);
          throw tooLarge(batch[0], target);
        }
        this.#retries++;
        if (isUnknownProducer(thrown)) await this.#drop();
        if (attempt === 0)
          log.warn("sending failed, trying again until it works", {
            to: target.shown,
            error: formatKafkaError(thrown),
          });
        await pause(backoffMs(attempt, random), this.#stop.signal);
        // A client whose connections broke keeps stale leaders for a while; a few attempts on, a fresh one knows better.
        if (attempt % 8 === 7) this.#producer?.clearMetadata();
      }
    }
    return false;
  }

  async #deliverHalves(batch: readonly OutgoingMessage[]): Promise<boolean> {
    const middle = Math.ceil(batch.length / 2);
    return (
      (await this.#deliver(batch.slice(0, middle))) && (await this.#deliver(batch.slice(middle)))
    );
  }

  async #send(batch: readonly OutgoingMessage[]): Promise<void> {
    const { target, compression, acks } = this.#options;
    this.#producer ??= new this.#client.Producer({
      ...baseOptions(target),
      idempotent: acks === "all",
      // The client takes fewer than two as "for ever" where numbers are kept; how long to try is ours to say.
      retries: 2,
      compression,
      // As Kafka's own clients place keys, so that theirs and ours of one GPU meet.
      partitioner: this.#client.compatibilityPartitioner,
    });
    await this.#producer.send({
      messages: batch.map(({ topic, key, value, headers }) => ({
        topic,
        key: Buffer.from(key),
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
