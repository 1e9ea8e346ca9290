/**
 * Converts native histograms to classic ones, for formats without them: `_bucket`, `_sum` and `_count`. Once a bound was written,
 * it is written with every sample, so that its counts are one series; it ends when the buckets change.
 */
import {
  allBuckets,
  equalNumbers,
  type Histogram,
  isCustom,
  toSchema,
} from "../../model/histogram/histogram.ts";

/** Four buckets per doubling: finer ones are merged. */
const finestSchema = 2;
/** Limit of bounds in one histogram. */
const mostBounds = 500;

export interface ClassicHistogram {
  /** Upper bounds with cumulative counts, ascending, +Inf last. */
  readonly buckets: readonly (readonly [bound: number, count: number])[];
  readonly sum: number;
  readonly count: number;
  /** Bounds that are no longer written. */
  readonly ended: readonly number[];
}

/** The bounds written so far for one series. */
export class ClassicBounds {
  #schema = Number.NaN;
  #custom = new Float64Array(0);
  #bounds: readonly number[] = [];

  /** Undefined for a histogram with too many buckets. */
  convert(native: Histogram): ClassicHistogram | undefined {
    const histogram =
      isCustom(native) || native.schema <= finestSchema ? native : toSchema(native, finestSchema);
    const buckets = allBuckets(histogram);
    const isSame =
      histogram.schema === this.#schema && equalNumbers(histogram.bounds, this.#custom);
    const before = isSame ? this.#bounds : [];
    const found = isCustom(histogram) ? histogram.bounds : buckets.map(({ upper }) => upper);
    const bounds = [...new Set([...before, ...found])]
      .filter((bound) => bound !== Infinity)
      .sort((a, b) => a - b);
    if (bounds.length > mostBounds) return undefined;
    const ended = isSame ? [] : this.#bounds.filter((bound) => !bounds.includes(bound));
    [this.#schema, this.#custom, this.#bounds] = [
      histogram.schema,
      Float64Array.from(histogram.bounds),
      bounds,
    ];
    let [below, at] = [0, 0];
    const counted = bounds.map((bound): readonly [number, number] => {
      for (; (buckets[at]?.upper ?? Infinity) <= bound; at++) below += buckets[at]?.count ?? 0;
      return [bound, below];
    });
    const { sum, count } = histogram;
    return { buckets: [...counted, [Infinity, count]], sum, count, ended };
  }

  /** Ends the series and returns its bounds. */
  end(): readonly number[] {
    const ended = this.#bounds;
    this.#bounds = [];
    this.#schema = Number.NaN;
    return ended;
  }
}
