/**
 * Fans out writes: to storage first, then everything that storage accepted to the sinks. A sink adds the data to its spool in
 * the same turn of the event loop in which the sender is acknowledged, so a kill loses nothing.
 */
import type { SampleBatch } from "../formats/samples/batch.ts";
import { FrameSamples, LayoutMetadata } from "../formats/samples/from-frame.ts";
import type { SampleWriter } from "../storage/history.ts";
import type { LabelSet } from "../model/labels.ts";
import type { Delivery, Sink } from "../pipeline/sink.ts";
import type { FrameOrigin } from "../storage/embedded/frames.ts";
import type { AppendResult } from "../storage/embedded/options.ts";

export type FrameListener = (delivery: Delivery) => void;

/**
 * Sinks are closed by their opener. Without sinks and listener, writes go straight to storage.
 *
 * @param listener called with each frame that storage accepted, before its sender is acknowledged
 */
export const fanOut = (
  storage: SampleWriter,
  sinks: readonly Sink[],
  listener?: FrameListener,
): SampleWriter => {
  const writer = sinks.length === 0 ? storage : new FanOutWriter(storage, sinks);
  return listener === undefined ? writer : new ObservedWriter(writer, listener);
};

class ObservedWriter implements SampleWriter {
  readonly retainsBatches: boolean;
  readonly #writer: SampleWriter;
  readonly #listener: FrameListener;

  constructor(writer: SampleWriter, listener: FrameListener) {
    this.#writer = writer;
    this.#listener = listener;
    this.retainsBatches = writer.retainsBatches === true;
  }

  write(batch: SampleBatch, client?: string): Promise<AppendResult> {
    return this.#writer.write(batch, client);
  }

  async writeFrame(origin: FrameOrigin, extra: LabelSet, client?: string): Promise<AppendResult> {
    const result = await this.#writer.writeFrame(origin, extra, client);
    if (isAccepted(result) && isDelivery(origin)) this.#listener(origin);
    return result;
  }

  endSource(source: string, timeMs: number): Promise<void> {
    return this.#writer.endSource(source, timeMs);
  }
}

class FanOutWriter implements SampleWriter {
  /** A sink sends a batch after the write has resolved. */
  readonly retainsBatches = true;
  readonly #storage: SampleWriter;
  readonly #sinks: readonly Sink[];
  readonly #frames = new FrameSamples();
  readonly #layouts = new LayoutMetadata();

  constructor(storage: SampleWriter, sinks: readonly Sink[]) {
    this.#storage = storage;
    this.#sinks = sinks;
  }

  async write(batch: SampleBatch, client?: string): Promise<AppendResult> {
    const result = await this.#storage.write(batch, client);
    if (isAccepted(result) || batch.metadata.length > 0) this.#send(batch);
    return result;
  }

  async writeFrame(origin: FrameOrigin, extra: LabelSet, client?: string): Promise<AppendResult> {
    const result = await this.#storage.writeFrame(origin, extra, client);
    const { batch } = this.#frames.take(origin, extra);
    if (!isAccepted(result)) return result;
    const others = isDelivery(origin) ? this.#relay(origin, extra) : this.#sinks;
    if (others.length > 0) this.#send(this.#layouts.with(batch, origin.frame), others);
    return result;
  }

  async endSource(source: string, timeMs: number): Promise<void> {
    await this.#storage.endSource(source, timeMs);
    for (const sink of this.#sinks) sink.relayEnd?.(source, timeMs);
    this.#send(this.#frames.end(source, timeMs).batch);
  }

  /** Relays the frame to sinks that accept frames; returns the others, which receive samples. */
  #relay(delivery: Delivery, extra: LabelSet): readonly Sink[] {
    return this.#sinks.filter((sink) => {
      sink.relay?.(delivery, extra);
      return sink.relay === undefined;
    });
  }

  #send(batch: SampleBatch, sinks = this.#sinks): void {
    for (const sink of sinks) sink.samples?.(batch);
  }
}

/** A frame with its devices and freshness can be relayed as a whole. */
const isDelivery = (origin: FrameOrigin): origin is Delivery =>
  "freshForMs" in origin && "devices" in origin;

/** Duplicates count as accepted: the sender may repeat a write whose first attempt was stored but not spooled because of a kill. */
const isAccepted = ({ stored, duplicates }: AppendResult): boolean => stored + duplicates > 0;
