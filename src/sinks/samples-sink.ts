/**
 * A sink that sends samples over HTTP: everything goes to its spool first, in the turn in which it came, and from there to the
 * receiver. What kind of request it becomes is its `post`; frames become samples with the ends of series told.
 */
import { FrameSamples } from "../formats/samples/from-frame.ts";
import { LayoutMetadata } from "../formats/samples/frame-metadata.ts";
import type { SampleBatch } from "../formats/samples/batch.ts";
import type { LabelSet } from "../model/labels.ts";
import { type SendResult, Shipper } from "../pipeline/ship.ts";
import type { Delivery, ShippingStats, Sink, SinkContext } from "../pipeline/sink.ts";
import { openSpool } from "../pipeline/spool/open.ts";
import type { SpoolRecord } from "../pipeline/spool/segment.ts";
import type { Spool } from "../pipeline/spool/spool.ts";
import type { RelabelRule } from "../formats/relabel/rule.ts";
import { Families } from "./families.ts";
import { shardRecords, packBatch } from "./shards.ts";
import { OutgoingLabels } from "./outgoing-labels.ts";
import { type Post, RequestBatch } from "./request-batch.ts";
import { createSpoolError } from "./spool-error.ts";

export interface SamplesSinkOptions {
  /** In logs and self-metrics; no secret in it. */
  readonly name: string;
  /** Of its own within the context's, one for each receiver. */
  readonly spoolFolder: string;
  readonly spoolMaxBytes: number;
  readonly spoolMaxAgeMs: number;
  readonly batchSamples: number;
  readonly shards: number;
  readonly externalLabels: LabelSet;
  readonly rules: readonly RelabelRule[];
  /** Between two attempts; the usual where absent. */
  readonly firstPauseMs?: number;
  readonly longestPauseMs?: number;
}

/** What the sink knows that a request may want to tell. */
export interface Sender {
  readonly post: (families: Families) => Post;
  close(): void;
}

/** Packed; a lot becomes about ten times as much in memory. */
const lotBytes = 512 * 1_024;
const closeWithinMs = 1_500;

export class SamplesSink implements Sink {
  readonly name: string;
  readonly #options: SamplesSinkOptions;
  readonly #context: SinkContext;
  readonly #sender: Sender;
  readonly #spool: Spool;
  readonly #shipper: Shipper;
  readonly #frames = new FrameSamples();
  readonly #sources = new Set<string>();
  readonly #layouts = new LayoutMetadata();
  readonly #families = new Families();
  readonly #labels: OutgoingLabels;
  #parcel: { readonly records: readonly SpoolRecord[]; readonly parcel: RequestBatch } | undefined;
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
    this.#shipper = new Shipper({
      name: options.name,
      spool: this.#spool,
      send: (records, signal) => this.#send(records, signal),
      lotBytes,
      clock,
      random,
      log,
      firstPauseMs: options.firstPauseMs ?? 250,
      longestPauseMs: options.longestPauseMs ?? 10_000,
    });
    this.#shipper.start();
  }

  write(delivery: Delivery): void | Promise<void> {
    this.#sources.add(delivery.source);
    const { batch, undo } = this.#frames.take(delivery, this.#context.identity);
    const whole = this.#layouts.with(batch, delivery.frame);
    if (this.#context.waits === true) return this.#keepAll(whole);
    if (!this.#keep(whole)) undo();
  }

  samples(batch: SampleBatch): void {
    this.#keep(batch);
  }

  shipping(): ShippingStats {
    return { ship: this.#shipper.stats(), spool: this.#spool.stats() };
  }

  /** What this machine's frames told ends here, as far as anybody elsewhere can know. */
  async close(): Promise<void> {
    const nowMs = this.#context.clock.nowMs();
    for (const source of this.#sources) this.#keep(this.#frames.end(source, nowMs).batch);
    await this.#shipper.close(closeWithinMs);
    await this.#spool.close();
    this.#sender.close();
  }

  /** For whoever can wait: nothing is pushed out, and what cannot be kept is told. */
  async #keepAll(batch: SampleBatch): Promise<void> {
    await this.#spool.room(packBatch(batch).length);
    if (!this.#keep(batch)) throw createSpoolError(this.name, this.#options.spoolFolder);
  }

  #keep(batch: SampleBatch): boolean {
    if (batch.sampleCount === 0 && batch.metadata.length === 0) return true;
    return this.#spool.append(packBatch(batch), batch.sampleCount) !== undefined;
  }

  async #send(records: readonly SpoolRecord[], signal: AbortSignal): Promise<SendResult> {
    if (this.#parcel?.records !== records) this.#parcel = { records, parcel: this.#pack(records) };
    const result = await this.#parcel.parcel.send(this.#sender.post(this.#families), signal);
    if (result.outcome !== "retry") this.#parcel = undefined;
    return result;
  }

  #pack(records: readonly SpoolRecord[]): RequestBatch {
    const { shards, batchSamples } = this.#options;
    const { lanes, metadata, unreadable } = shardRecords(records, shards, this.#labels);
    if (unreadable > 0)
      this.#context.log.error("samples of the spool cannot be read back", {
        to: this.name,
        samples: unreadable,
      });
    this.#families.learn(metadata);
    // What was under way when the process ended may have been taken.
    const uncertain = this.#isFirst;
    this.#isFirst = false;
    return new RequestBatch(lanes, batchSamples, uncertain);
  }
}
