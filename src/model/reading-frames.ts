/** Builds frames from lists of readings. The layout stays the same object while the set of series does not change. */
import type { MetricEntry } from "./catalogue/entry.ts";
import { type Frame, FrameWriter } from "./frame.ts";
import { labelKey, type LabelSet } from "./labels.ts";
import { type Layout, LayoutBuilder, type SampleSuffix } from "./layout.ts";
import type { AbsenceReason } from "./presence.ts";

export interface ListedReading {
  readonly metric: MetricEntry;
  readonly labels: LabelSet;
  readonly suffix?: SampleSuffix | undefined;
  /** The value, or the reason for its absence. */
  readonly value: number | AbsenceReason;
}

const maxLayouts = 8;

export class ReadingFrames {
  /** Layouts by their series, because a sender may alternate between a few sets. */
  readonly #layouts = new Map<string, Layout>();
  #layout: Layout = { series: [] };
  readonly #isRounded: boolean;

  /** @param isRounded false for values of another exporter, which has rounded them already */
  constructor(isRounded = true) {
    this.#isRounded = isRounded;
  }

  /** A series must not occur twice. Cheapest if equal label sets are the same objects from frame to frame. */
  frame(timeMs: number, readings: readonly ListedReading[]): Frame {
    if (!this.#isSame(readings)) {
      const key = readings.map(keyOf).join("\n");
      this.#layout = this.#layouts.get(key) ?? buildLayout(readings);
      if (this.#layouts.size >= maxLayouts) this.#layouts.clear();
      this.#layouts.set(key, this.#layout);
    }
    const writer = new FrameWriter(this.#layout, timeMs);
    readings.forEach(({ value }, slot) =>
      typeof value !== "number"
        ? writer.absent(slot, value)
        : this.#isRounded
          ? writer.set(slot, value)
          : writer.setAsReported(slot, value),
    );
    return writer.finish();
  }
  #isSame(readings: readonly ListedReading[]): boolean {
    const { series } = this.#layout;
    return (
      series.length === readings.length &&
      readings.every(
        ({ metric, labels, suffix = "" }, slot) =>
          series[slot]?.labels === labels &&
          series[slot].metric === metric &&
          series[slot].suffix === suffix,
      )
    );
  }
}

function buildLayout(readings: readonly ListedReading[]): Layout {
  const builder = new LayoutBuilder();
  for (const { metric, labels, suffix } of readings) builder.add(metric, labels, suffix);
  return builder.build();
}

/** Returns the same key for all readings of one series. */
export const keyOf = ({ metric, labels, suffix = "" }: ListedReading): string =>
  `${metric.name}${suffix}${labelKey(labels)}`;
