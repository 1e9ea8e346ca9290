/**
 * A layout is the ordered list of series of a frame's values. It is built once and shared by every frame with the same series, so
 * that a frame carries numbers only. A layout never changes: a device that appears or disappears means a new one.
 */
import type { MetricEntry } from "./catalogue/entry.ts";
import { labelKey, type LabelSet } from "./labels.ts";

/** A histogram has three kinds of series. Every other metric has one, without a suffix. */
export type SampleSuffix = "" | "_bucket" | "_sum" | "_count";

export interface Series {
  readonly metric: MetricEntry;
  readonly suffix: SampleSuffix;
  readonly labels: LabelSet;
  /** True if computed here from other readings, not reported by the device. */
  readonly derived?: true;
}

export interface Layout {
  readonly series: readonly Series[];
}

export function seriesKey(series: Series): string {
  return `${series.metric.name}${series.suffix}\uFFFF${labelKey(series.labels)}`;
}

export class LayoutBuilder {
  readonly #series: Series[] = [];
  readonly #keys = new Set<string>();

  /** Adds a series and returns its slot in the values of every frame of this layout. */
  add(metric: MetricEntry, labels: LabelSet, suffix: SampleSuffix = ""): number {
    const series: Series = { metric, suffix, labels };
    const key = seriesKey(series);
    if (this.#keys.has(key))
      throw new Error(`BUG: series added twice to a layout: ${metric.name}${suffix}`);
    this.#keys.add(key);
    return this.#series.push(series) - 1;
  }

  build(): Layout {
    return { series: this.#series.slice() };
  }
}
