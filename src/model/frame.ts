/** A frame, the unit of data in the pipeline: one instant, one layout, one column of values, and one column of presence codes. */
import type { MetricEntry } from "./catalogue/entry.ts";
import type { Layout, Series } from "./layout.ts";
import { type AbsenceReason, presence } from "./presence.ts";

export interface Frame {
  readonly timeMs: number;
  readonly layout: Layout;
  /** A value is undefined unless its presence is 0: readers check presence first. */
  readonly values: Float64Array;
  readonly presence: Uint8Array;
  /** Rejected readings, for the log; their presence is `failed`. Never sent to other machines. */
  readonly rejected?: readonly RejectedReading[];
}

const rejectionReasons = ["out_of_range", "sentinel", "not_a_number"] as const;
export type RejectionReason = (typeof rejectionReasons)[number];

export interface RejectedReading {
  readonly slot: number;
  /** As read by the source, in the metric's base unit. A sentinel may appear as the driver wrote it. */
  readonly value: number;
  readonly reason: RejectionReason;
}

/** Fills one frame. A slot that is never set stays `failed`: a missing reading is not a zero. */
export class FrameWriter {
  readonly #layout: Layout;
  readonly #timeMs: number;
  readonly #values: Float64Array;
  readonly #presence: Uint8Array;
  #rejected: RejectedReading[] | undefined;

  constructor(layout: Layout, timeMs: number) {
    this.#layout = layout;
    this.#timeMs = timeMs;
    this.#values = new Float64Array(layout.series.length);
    this.#presence = new Uint8Array(layout.series.length).fill(presence.failed);
  }

  /** Rounds to the metric's resolution. A value outside the plausible range comes from a broken sensor and becomes `failed`. */
  set(slot: number, value: number): void {
    this.setAsReported(slot, value);
    const { metric, suffix } = this.#seriesAt(slot);
    if (suffix !== "_bucket" && suffix !== "_count")
      this.#values[slot] = roundTo(value, metric.resolution);
  }

  /** Sets a value without rounding it, for values that another exporter has rounded already. */
  setAsReported(slot: number, value: number): void {
    if (!isPlausible(this.#seriesAt(slot).metric, value))
      return this.reject(slot, value, findRejectionReason(value));
    this.#values[slot] = value;
    this.#presence[slot] = presence.present;
  }

  #seriesAt(slot: number): Series {
    const series = this.#layout.series[slot];
    if (series === undefined) throw new Error(`BUG: slot ${slot} is not in the layout`);
    return series;
  }

  /** Marks an impossible value as `failed` and records the reason. */
  reject(slot: number, value: number, reason: RejectionReason): void {
    this.#presence[slot] = presence.failed;
    (this.#rejected ??= []).push({ slot, value, reason });
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
      ...(this.#rejected !== undefined && { rejected: this.#rejected }),
    };
  }
}

export function isPlausible(metric: MetricEntry, value: number): boolean {
  return value >= metric.plausible[0] && value <= metric.plausible[1];
}

/** All ones in 16, 32 and 64 bits, which drivers write for "unknown"; unit conversion may have scaled them by a power of 1,000. */
const sentinels = [0xffff, 0xffff_ffff, 2 ** 64];
const scales = [1, 1e-6, 1e-3, 1e3, 1e6];

function findRejectionReason(value: number): RejectionReason {
  if (Number.isNaN(value)) return "not_a_number";
  const isSentinel = scales.some((scale) =>
    sentinels.some((ones) => Math.abs(value - ones * scale) <= Math.abs(value) * 1e-12),
  );
  return isSentinel ? "sentinel" : "out_of_range";
}

/** Multiplies by the inverse for steps below 1: 3 * 0.1 is not 0.3, 3 / 10 is. */
export function roundTo(value: number, resolution: number): number {
  if (resolution >= 1) return Math.round(value / resolution) * resolution;
  const inverse = Math.round(1 / resolution);
  const rounded = Math.round(value * inverse) / inverse;
  return rounded === 0 ? 0 : rounded;
}
