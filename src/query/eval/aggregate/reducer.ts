/** Aggregations that take one series after the other and need none of them again: sum, avg, min, max, count, group. */
import type { AggregateOp } from "../../ast.ts";
import { lostIn, MeanColumn } from "../arithmetic.ts";
import type { StepSeries } from "../value.ts";

export interface Reducer {
  add(series: StepSeries): void;
  /** Puts the last word into the output. */
  finish(): void;
}

/** Fills `out`, which is empty; undefined for what has to see all values of a step at once. */
export function reducerOf(op: AggregateOp, out: StepSeries): Reducer | undefined {
  if (op === "sum") return new Sum(out);
  if (op === "avg") return new Mean(out);
  const fold = folds[op];
  return fold === undefined ? undefined : new Fold(out, fold);
}

interface FoldFunction {
  readonly first: (value: number) => number;
  readonly next: (before: number, value: number) => number;
}

const same = (value: number): number => value;

const folds: Partial<Record<AggregateOp, FoldFunction>> = {
  count: { first: () => 1, next: (count) => count + 1 },
  group: { first: () => 1, next: () => 1 },
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

  constructor(out: StepSeries, fold: FoldFunction) {
    this.out = out;
    this.fold = fold;
  }

  add({ values, present }: StepSeries): void {
    const { out } = this;
    const { first, next } = this.fold;
    for (let step = 0; step < present.length; step++) {
      if (present[step] !== 1) continue;
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

  constructor(out: StepSeries) {
    this.out = out;
    this.lost = new Float64Array(out.values.length);
  }

  add({ values, present }: StepSeries): void {
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
  }
}

class Mean implements Reducer {
  private readonly out: StepSeries;
  private readonly means: MeanColumn;

  constructor(out: StepSeries) {
    this.out = out;
    this.means = new MeanColumn(out.values.length);
  }

  add({ values, present }: StepSeries): void {
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
  }
}
