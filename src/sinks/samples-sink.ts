/**
 * A sink that sends samples over HTTP: everything is appended to its spool, and sent from there in order. The sender's
 * `post` encodes the requests; frames become samples, with staleness markers at the end of a series.
 */
import { FrameSamples, LayoutMetadata } from "../formats/samples/from-frame.ts";
import { type SampleBatch, withoutHistograms } from "../formats/samples/batch.ts";
import type { LabelSet } from "../model/labels.ts";
import { BatchSender, type SendResult } from "../base/send/batch-sender.ts";
import type { Delivery, ShippingStats, Sink, SinkContext } from "../pipeline/sink.ts";
import { openSpool } from "../pipeline/spool/open.ts";
import { createSpoolError, spoolQueue } from "../pipeline/spool/queue.ts";
import type { SpoolRecord } from "../pipeline/spool/segment.ts";
import type { Spool } from "../pipeline/spool/spool.ts";
import type { RelabelRule } from "../formats/relabel/rule.ts";
import { Families } from "./families.ts";
import { shardRecords, packBatch } from "./shards.ts";
import { OutgoingLabels } from "./outgoing-labels.ts";
import { type Post, RequestBatch } from "./request-batch.ts";

export interface SamplesSinkOptions {
  /** The name in logs and self-metrics, without secrets. */
  readonly name: string;
  /** Unique to the receiver, inside the context's spool folder. */
  readonly spoolFolder: string;
  readonly spoolMaxBytes: number;
  readonly spoolMaxAgeMs: number;
  readonly batchSamples: number;
  readonly shards: number;
  readonly externalLabels: LabelSet;
  readonly rules: readonly RelabelRule[];
  /** False if the receiver is configured not to get them; sent by default. */
  readonly sendsHistograms?: boolean | undefined;
  readonly sendsExemplars?: boolean | undefined;
  /** Back-off; undefined for the default. */
  readonly firstPauseMs?: number | undefined;
  readonly longestPauseMs?: number | undefined;
}

/** Encodes and posts requests of one protocol. */
export interface Sender {
  readonly post: (families: Families) => Post;
  close(): void;
}

/** Compressed size; a batch takes about ten times as much in memory. */
const batchBytes = 512 * 1_024;
const closeWithinMs = 1_500;

export class SamplesSink implements Sink {
  readonly name: string;
  readonly #options: SamplesSinkOptions;
  readonly #context: SinkContext;
  readonly #sender: Sender;
  readonly #spool: Spool;
  readonly #batches: BatchSender<SpoolRecord>;
  readonly #frames = new FrameSamples();
  readonly #sources = new Set<string>();
  readonly #layouts = new LayoutMetadata();
  readonly #families = new Families();
  readonly #labels: OutgoingLabels;
  #current:
    | { readonly records: readonly SpoolRecord[]; readonly requests: RequestBatch }
    | undefined;
  #isFirst: boolean;

  constructor(options: SamplesSinkOptions, sender: Sender, context: SinkContext) {
    const { clock, random, log } = context;
    this.name = options.name;
    this.#options = options;
    this.#context = context;
    this.#sender = sender;
    this.#labels = new OutgoingLabels(options.externalLabels, options.rules);
    this.#spool = openSpool({
      dir: options.spoolFolder,
      maxBytes: options.spoolMaxBytes,
      maxAgeMs: context.waits === true ? Infinity : options.spoolMaxAgeMs,
      name: options.name,
      clock,
      log,
    });
    this.#isFirst = this.#spool.stats().records > 0;
    this.#batches = new BatchSender({
      name: options.name,
      queue: spoolQueue(this.#spool, batchBytes),
      samplesOf: ({ samples }) => samples,
      sizeOf: ({ bytes }) => bytes.length,
      send: (records, signal) => this.#send(records, signal),
      clock,
      random,
      log,
      backoff: { firstMs: options.firstPauseMs ?? 250, longestMs: options.longestPauseMs },
    });
    this.#batches.start();
  }

  write(delivery: Delivery): void | Promise<void> {
    this.#sources.add(delivery.source);
    const { batch, undo } = this.#frames.take(delivery, this.#context.identity);
    const whole = this.#layouts.with(batch, delivery.frame);
    if (this.#context.waits === true) return this.#appendWaiting(whole);
    if (!this.#append(whole)) undo();
  }

  samples(batch: SampleBatch): void {
    const { sendsHistograms = true, sendsExemplars = true } = this.#options;
    const wanted = sendsHistograms ? batch : withoutHistograms(batch);
    const hasUnwanted = !sendsExemplars && batch.exemplars !== undefined;
    this.#append(hasUnwanted ? { ...wanted, exemplars: undefined } : wanted);
  }

  shipping(): ShippingStats {
    return { ship: this.#batches.stats(), spool: this.#spool.stats() };
  }

  /** Ends the series of this machine's frames with staleness markers. */
  async close(): Promise<void> {
    const nowMs = this.#context.clock.nowMs();
    for (const source of this.#sources) this.#append(this.#frames.end(source, nowMs).batch);
    await this.#batches.close(closeWithinMs);
    await this.#spool.close();
    this.#sender.close();
  }

  /** For callers that can wait: drops nothing, and rejects if the spool can never store the batch. */
  async #appendWaiting(batch: SampleBatch): Promise<void> {
    await this.#spool.room(packBatch(batch).length);
    if (!this.#append(batch)) throw createSpoolError(this.name, this.#options.spoolFolder);
  }

  #append(batch: SampleBatch): boolean {
    if (batch.sampleCount === 0 && batch.metadata.length === 0) return true;
    return this.#spool.append(packBatch(batch), batch.sampleCount) !== undefined;
  }

  async #send(records: readonly SpoolRecord[], signal: AbortSignal): Promise<SendResult> {
    if (this.#current?.records !== records)
      this.#current = { records, requests: this.#pack(records) };
    const result = await this.#current.requests.send(this.#sender.post(this.#families), signal);
    if (result.outcome !== "retry") this.#current = undefined;
    return result;
  }

  #pack(records: readonly SpoolRecord[]): RequestBatch {
    const { shards, batchSamples } = this.#options;
    const { shards: batches, metadata, unreadable } = shardRecords(records, shards, this.#labels);
    if (unreadable > 0)
      this.#context.log.error("spooled samples are unreadable, dropped", {
        to: this.name,
        samples: unreadable,
      });
    this.#families.learn(metadata);
    // A request that was in flight when the previous process ended may have been stored.
    const uncertain = this.#isFirst;
    this.#isFirst = false;
    return new RequestBatch(batches, batchSamples, uncertain);
  }
}
