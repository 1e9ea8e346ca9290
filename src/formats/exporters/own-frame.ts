/**
 * The frame of a scraped gpulse agent, whose batches have the same series in the same order from scrape to scrape: then a sample's
 * slot in the frame is known, and no object is made of it.
 */
import type { Device } from "../../model/device.ts";
import type { Frame } from "../../model/frame.ts";
import type { Layout } from "../../model/layout.ts";
import type { SampleBatch } from "../samples/batch.ts";
import type { KnownSeries } from "./series-cache.ts";
import type { ExporterFrame, TargetGpu } from "./targets.ts";

/** The first of the numbers that mean "blank" in DCGM, as a double. */
const blank = 2 ** 63;

export class OwnFramePlan {
  readonly #first: ExporterFrame;
  readonly #layout: Layout;
  /** By index of the sample; -1 for one that is not in the frame. */
  readonly #slots: Int32Array;
  /** The plausible range of each slot. */
  readonly #lowest: Float64Array;
  readonly #highest: Float64Array;
  readonly #gpus: readonly TargetGpu[];
  #devices: readonly Device[];

  private constructor(first: ExporterFrame, slots: Int32Array, gpus: readonly TargetGpu[]) {
    const { series } = first.frame.layout;
    this.#first = first;
    this.#layout = first.frame.layout;
    this.#slots = slots;
    this.#lowest = Float64Array.from(series, ({ metric }) => metric.plausible[0]);
    this.#highest = Float64Array.from(series, ({ metric }) => metric.plausible[1]);
    this.#gpus = gpus;
    this.#devices = first.devices;
  }

  /**
   * The plan for the batches after this one, whose only frame is `only`; undefined if a sample's slot depends on its value or on
   * another sample.
   *
   * @param known the batch's series
   */
  static of(
    batch: SampleBatch,
    known: readonly (KnownSeries | null)[],
    only: ExporterFrame,
  ): OwnFramePlan | undefined {
    if (!only.isOwn || only.isReplaced || batch.sampleCount !== known.length) return undefined;
    const slots = new Int32Array(known.length).fill(-1);
    const own = new Set<unknown>();
    const gpus = new Set<TargetGpu>();
    for (const [at, one] of known.entries()) {
      if (batch.sampleSeries[at] !== at) return undefined;
      if (one === null) continue;
      if (!one.target.isOwn || one.reading === undefined || one.reading.isLastXid === true)
        return undefined;
      slots[at] = own.size;
      own.add(one.series);
      if (own.size !== (slots[at] ?? 0) + 1) return undefined;
      if (one.gpu !== undefined) gpus.add(one.gpu);
    }
    const isWhole = own.size > 0 && own.size === only.frame.layout.series.length;
    return isWhole && gpus.size === only.devices.length
      ? new OwnFramePlan(only, slots, [...gpus])
      : undefined;
  }

  /** Undefined for a batch with other samples, with one that ends its series, or with a value that is not plausible. */
  frame(batch: SampleBatch): ExporterFrame | undefined {
    const { sampleCount, sampleSeries, times, values: reported } = batch;
    const slots = this.#slots;
    const [lowest, highest] = [this.#lowest, this.#highest];
    if (sampleCount !== slots.length) return undefined;
    const values = new Float64Array(this.#layout.series.length);
    let first = -1;
    for (let at = 0; at < sampleCount; at++) {
      if (sampleSeries[at] !== at) return undefined;
      const slot = slots[at] as number;
      if (slot === -1) continue;
      if (first === -1) first = at;
      else if (times[at] !== times[first]) return undefined;
      const value = reported[at] as number;
      // False for NaN, staleness markers included.
      const isPlausible =
        value >= (lowest[slot] as number) && value <= (highest[slot] as number) && value !== blank;
      if (!isPlausible) return undefined;
      values[slot] = value;
    }
    const frame: Frame = {
      timeMs: times[first] ?? 0,
      layout: this.#layout,
      values,
      // All present.
      presence: new Uint8Array(values.length),
    };
    return { ...this.#first, frame, devices: this.#currentDevices() };
  }

  /** The same list until a later series describes one of the GPUs better. */
  #currentDevices(): readonly Device[] {
    const gpus = this.#gpus;
    for (let at = 0; at < gpus.length; at++)
      if (gpus[at]?.device !== this.#devices[at])
        return (this.#devices = gpus.map(({ device }) => device));
    return this.#devices;
  }
}
