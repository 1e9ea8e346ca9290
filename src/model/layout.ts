/**
 * A layout is the ordered list of series that a frame's values belong to. It is made once and shared by every frame of
 * its shape, so a frame carries numbers only. Never changed after it is built: a device that comes or goes means a new one.
 */
import type { MetricEntry } from "./catalogue/entry.ts";
import { labelKey, type LabelSet } from "./labels.ts";

/** A histogram is three kinds of series; everything else has one, with no suffix. */
export type SampleSuffix = "" | "_bucket" | "_sum" | "_count";

export interface Series {
  readonly metric: MetricEntry;
  readonly suffix: SampleSuffix;
  readonly labels: LabelSet;
  /** Computed here from other readings, not reported by the device. */
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
