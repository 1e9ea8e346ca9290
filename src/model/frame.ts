/** The unit that flows: one instant, one layout, one column of values, and one of presence: which values are there, and why not. */
import type { MetricEntry } from "./catalogue/entry.ts";
import type { Layout } from "./layout.ts";
import { type AbsenceReason, presence } from "./presence.ts";

export interface Frame {
  readonly timeMs: number;
  readonly layout: Layout;
  /** Meaningless where presence is not 0: readers look at presence first. */
  readonly values: Float64Array;
  readonly presence: Uint8Array;
}

/** Fills one frame. What is never set stays `failed`: a reading nobody made is not a zero. */
export class FrameWriter {
  readonly #layout: Layout;
  readonly #timeMs: number;
  readonly #values: Float64Array;
  readonly #presence: Uint8Array;

  constructor(layout: Layout, timeMs: number) {
    this.#layout = layout;
    this.#timeMs = timeMs;
    this.#values = new Float64Array(layout.series.length);
    this.#presence = new Uint8Array(layout.series.length).fill(presence.failed);
  }

  /** Rounds to the metric's resolution. A value outside its plausible range is a broken sensor: it becomes `failed`. */
  set(slot: number, value: number): void {
    const series = this.#layout.series[slot];
    if (series === undefined) throw new Error(`BUG: slot ${slot} is not in the layout`);
    if (!isPlausible(series.metric, value)) {
      this.#presence[slot] = presence.failed;
      return;
    }
    this.#values[slot] =
      series.suffix === "_bucket" || series.suffix === "_count"
        ? value
        : roundTo(value, series.metric.resolution);
    this.#presence[slot] = presence.present;
  }

  absent(slot: number, reason: AbsenceReason): void {
    this.#presence[slot] = presence[reason];
  }

  finish(): Frame {
    return {
      timeMs: this.#timeMs,
      layout: this.#layout,
      values: this.#values,
      presence: this.#presence,
    };
  }
}

export function isPlausible(metric: MetricEntry, value: number): boolean {
  return value >= metric.plausible[0] && value <= metric.plausible[1];
}

/** Multiplies by the inverse for steps below 1: 3 * 0.1 is not 0.3, 3 / 10 is. */
export function roundTo(value: number, resolution: number): number {
  if (resolution >= 1) return Math.round(value / resolution) * resolution;
  const inverse = Math.round(1 / resolution);
  const rounded = Math.round(value * inverse) / inverse;
  return rounded === 0 ? 0 : rounded;
}
