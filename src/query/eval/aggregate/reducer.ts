/** Aggregations that process one series after the other without retaining it: sum, avg, min, max, count, group. */
import type { AggregateOp } from "../../ast.ts";
import { compact } from "../../../model/histogram/histogram.ts";
import { HistogramSum } from "../../../model/histogram/sum.ts";
import { metricName } from "../../labels.ts";
import { lostIn, MeanColumn } from "../arithmetic.ts";
import type { Notes } from "../interpolate.ts";
import { isHistogram, putHistogram, type StepSeries } from "../value.ts";

export interface Reducer {
  add(series: StepSeries): void;
  /** Writes the final values to the output. */
  finish(): void;
}

/** Fills `out`, which is empty. Returns undefined for aggregations that need all values of a step at once. */
export function reducerOf(op: AggregateOp, out: StepSeries, notes: Notes): Reducer | undefined {
  if (op === "sum") return new Sum(out, new HistogramTotals(out, false, notes));
  if (op === "avg") return new Mean(out, new HistogramTotals(out, true, notes));
  const fold = folds[op];
  return fold === undefined
    ? undefined
    : new Fold(out, fold, () => notes.annotations.ignoredInAggregation(op, notes.span));
}

/** The native histograms of a sum or mean, by step; created with the first one. */
class HistogramTotals {
  readonly #out: StepSeries;
  readonly #isMean: boolean;
  readonly #notes: Notes;
  readonly #sums = new Map<number, HistogramSum>();
  /** Steps at which a float came first; their histograms are ignored. */
  readonly #afterFloat = new Set<number>();
  /** Steps with incompatible histograms, and whether a float came before that was detected. */
  readonly #incompatible = new Map<number, boolean>();

  constructor(out: StepSeries, isMean: boolean, notes: Notes) {
    this.#out = out;
    this.#isMean = isMean;
    this.#notes = notes;
  }

  add({ present, histograms, labels }: StepSeries): void {
    if (histograms === undefined) return;
    for (let step = 0; step < present.length; step++) {
      const term = present[step] === isHistogram ? histograms[step] : undefined;
      if (term === undefined || this.#incompatible.has(step)) continue;
      const sum = this.#sums.get(step);
      if (sum === undefined) {
        if (this.#out.present[step] === 0) this.#sums.set(step, new HistogramSum(term));
        else this.#afterFloat.add(step);
      } else if (!(this.#isMean ? sum.addToMean(term) : sum.add(term))) {
        this.#notes.annotations.mixedSchemas(metricName(labels), this.#notes.span);
        this.#incompatible.set(step, this.#out.present[step] !== 0);
      }
    }
  }

  /** Floats and histograms at one step cannot be added: the step has no result. */
  finish(): void {
    const { annotations, span } = this.#notes;
    for (const step of this.#afterFloat) {
      annotations.mixedAggregation(span);
      this.#out.present[step] = 0;
    }
    for (const [step, sum] of this.#sums) {
      if (sum.boundsReconciled) annotations.boundsReconciled("aggregation", span);
      const hadFloat = this.#incompatible.get(step);
      if (hadFloat ?? this.#out.present[step] !== 0) annotations.mixedAggregation(span);
      if (hadFloat !== undefined || this.#out.present[step] !== 0) {
        this.#out.present[step] = 0;
        continue;
      }
      if (sum.resetCollision) annotations.resetCollision("aggregation", span);
      putHistogram(this.#out, step, compact(this.#isMean ? sum.mean() : sum.total()));
    }
  }
}

interface FoldFunction {
  /** True if a native histogram counts like a float; otherwise histograms are skipped. */
  readonly takesHistograms?: boolean;
  readonly first: (value: number) => number;
  readonly next: (before: number, value: number) => number;
}

const same = (value: number): number => value;

const folds: Partial<Record<AggregateOp, FoldFunction>> = {
  count: { first: () => 1, next: (count) => count + 1, takesHistograms: true },
  group: { first: () => 1, next: () => 1, takesHistograms: true },
  min: {
    first: same,
    next: (best, value) => (best > value || Number.isNaN(best) ? value : best),
  },
  max: {
    first: same,
    next: (best, value) => (best < value || Number.isNaN(best) ? value : best),
  },
};

class Fold implements Reducer {
  private readonly out: StepSeries;
  private readonly fold: FoldFunction;
  private readonly ignore: () => void;

  constructor(out: StepSeries, fold: FoldFunction, ignore: () => void) {
    this.out = out;
    this.fold = fold;
    this.ignore = ignore;
  }

  add({ values, present }: StepSeries): void {
    const { out } = this;
    const { first, next, takesHistograms = false } = this.fold;
    for (let step = 0; step < present.length; step++) {
      if (present[step] === 0) continue;
      if (present[step] === isHistogram && !takesHistograms) {
        this.ignore();
        continue;
      }
      const value = values[step] ?? 0;
      out.values[step] =
        out.present[step] === 1 ? next(out.values[step] ?? 0, value) : first(value);
      out.present[step] = 1;
    }
  }

  finish(): void {}
}

class Sum implements Reducer {
  private readonly out: StepSeries;
  private readonly lost: Float64Array;
  private readonly histograms: HistogramTotals;

  constructor(out: StepSeries, histograms: HistogramTotals) {
    this.out = out;
    this.histograms = histograms;
    this.lost = new Float64Array(out.values.length);
  }

  add(series: StepSeries): void {
    const { values, present } = series;
    this.histograms.add(series);
    const { out, lost } = this;
    for (let step = 0; step < present.length; step++) {
      if (present[step] !== 1) continue;
      const value = values[step] ?? 0;
      if (out.present[step] === 1) {
        const before = out.values[step] ?? 0;
        const next = before + value;
        lost[step] = lostIn(before, value, next, lost[step] ?? 0);
        out.values[step] = next;
      } else {
        out.values[step] = value;
        out.present[step] = 1;
      }
    }
  }

  finish(): void {
    const { values, present } = this.out;
    for (let step = 0; step < present.length; step++)
      if (present[step] === 1) values[step] = (values[step] ?? 0) + (this.lost[step] ?? 0);
    this.histograms.finish();
  }
}

class Mean implements Reducer {
  private readonly out: StepSeries;
  private readonly means: MeanColumn;
  private readonly histograms: HistogramTotals;

  constructor(out: StepSeries, histograms: HistogramTotals) {
    this.out = out;
    this.histograms = histograms;
    this.means = new MeanColumn(out.values.length);
  }

  add(series: StepSeries): void {
    const { values, present } = series;
    this.histograms.add(series);
    const { out, means } = this;
    for (let step = 0; step < present.length; step++) {
      if (present[step] !== 1) continue;
      means.add(step, values[step] ?? 0);
      out.present[step] = 1;
    }
  }

  finish(): void {
    const { values, present } = this.out;
    for (let step = 0; step < present.length; step++)
      if (present[step] === 1) values[step] = this.means.at(step);
    this.histograms.finish();
  }
}
