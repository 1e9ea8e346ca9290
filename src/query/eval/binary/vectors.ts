/** Arithmetic and comparison between vectors: series are matched by signature once, then computed for all steps. */
import type { Binary, VectorMatching } from "../../ast.ts";
import type { Histogram } from "../../../model/histogram/histogram.ts";
import { labelKey, type LabelSet, labelValue } from "../../../model/labels.ts";
import { executionError } from "../../errors.ts";
import {
  printLabels,
  signature,
  dropAll,
  dropMetadata,
  keepOnly,
  withLabel,
} from "../../labels.ts";
import { eachSeries, newSeries, settleAll, type EvalScope } from "../scope.ts";
import { emptySeries, histogramAt, isEmpty, putHistogram, type StepSeries } from "../value.ts";
import { operateOnHistograms, StepNotes } from "./histograms.ts";
import { arithmeticOf, comparisonOf } from "./operate.ts";

interface Pair {
  readonly many: StepSeries[];
  readonly one: StepSeries[];
}

export async function combineVectors(
  expr: Binary,
  matching: VectorMatching,
  left: readonly StepSeries[],
  right: readonly StepSeries[],
  scope: EvalScope,
): Promise<readonly StepSeries[]> {
  // One-to-many is many-to-one with swapped sides.
  const swapped = matching.card === "one-to-many";
  const many = swapped ? right : left;
  const one = swapped ? left : right;
  const join = new Join(expr, matching, scope, swapped, [...many, ...one]);
  const pairs = await pairUp(many, one, signature(matching.labels, matching.on), scope);
  if ([...pairs.values()].some((pair) => pair.one.length > 1))
    refuseDuplicates(pairs, many, matching, swapped, scope);
  for (const pair of pairs.values()) {
    if (scope.run.isDue()) await scope.run.breathe();
    join.pair(pair);
  }
  join.notes.addTo(scope.run.annotations);
  const results = join.results();
  return join.holdsEqual ? settleAll(scope, results) : results;
}

async function pairUp(
  many: readonly StepSeries[],
  one: readonly StepSeries[],
  sign: (labels: LabelSet) => string,
  scope: EvalScope,
): Promise<ReadonlyMap<string, Pair>> {
  const pairs = new Map<string, Pair>();
  const at = (key: string): Pair => {
    let pair = pairs.get(key);
    if (pair === undefined) pairs.set(key, (pair = { many: [], one: [] }));
    return pair;
  };
  await eachSeries(scope, many, (series) => at(sign(series.labels)).many.push(series));
  await eachSeries(scope, one, (series) => at(sign(series.labels)).one.push(series));
  return pairs;
}

/** Rejects two series with the same signature on the "one" side at the same step as ambiguous. */
function refuseDuplicates(
  pairs: ReadonlyMap<string, Pair>,
  many: readonly StepSeries[],
  matching: VectorMatching,
  swapped: boolean,
  scope: EvalScope,
): void {
  const fills = matching.fillLeft !== undefined || matching.fillRight !== undefined;
  for (let step = 0; step < scope.grid.count; step++) {
    if (!fills && !many.some((series) => series.present[step] !== 0)) continue;
    for (const pair of pairs.values()) {
      const [first, second] = pair.one.filter((series) => series.present[step] !== 0);
      if (first === undefined || second === undefined) continue;
      const group = printLabels(matchLabels(second.labels, matching));
      const both = `[${[first, second]
        .map(({ labels }) => printLabels(labels))
        .sort()
        .join(", ")}]`;
      throw executionError(
        `found duplicate series for the match group ${group} on the ${swapped ? "left" : "right"} hand-side of the ` +
          `operation: ${both};many-to-many matching not allowed: matching labels must be unique on one side`,
      );
    }
  }
}

class Join {
  private readonly expr: Binary;
  private readonly matching: VectorMatching;
  private readonly scope: EvalScope;
  private readonly swapped: boolean;
  private readonly out = new Map<string, StepSeries>();
  readonly notes = new StepNotes();
  private readonly all: readonly StepSeries[];
  private orders: ReadonlyMap<StepSeries, number> | undefined;
  holdsEqual = false;

  /** @param all the series of both sides, which determine the order of annotations at one step */
  constructor(
    expr: Binary,
    matching: VectorMatching,
    scope: EvalScope,
    swapped: boolean,
    all: readonly StepSeries[],
  ) {
    this.expr = expr;
    this.matching = matching;
    this.scope = scope;
    this.swapped = swapped;
    this.all = all;
  }

  results(): readonly StepSeries[] {
    return [...this.out.values()].filter((series) => !isEmpty(series));
  }

  /** Computes all series of one signature. The sides are "many" and "one"; for one-to-one they are left and right. */
  pair(pair: Pair): void {
    const { count } = this.scope.grid;
    const { fillLeft: fillMany, fillRight: fillOne } = this.matching;
    const matches = new DuplicateMatchCheck(
      this.matching.card === "one-to-one",
      pair.many.length > 1,
      count,
      fillMany !== undefined,
    );
    const { one, many } = pair;
    for (const series of many) {
      for (const other of one) this.compute(series, other, matches);
      if (fillOne === undefined) continue;
      const isMissing = (step: number): boolean => one.every(({ present }) => present[step] === 0);
      this.compute(series, this.filled(series, fillOne, isMissing), matches);
    }
    if (fillMany === undefined) return;
    for (const other of one) {
      const isMissing = (step: number): boolean => !matches.hasMatch(step);
      this.compute(this.filled(other, fillMany, isMissing), other, undefined);
    }
  }

  /** Creates a constant series for the missing side. */
  private filled(
    { labels }: StepSeries,
    fill: number,
    isMissing: (step: number) => boolean,
  ): StepSeries {
    const { count } = this.scope.grid;
    const series = emptySeries(matchLabels(labels, this.matching), false, count);
    series.values.fill(fill);
    for (let step = 0; step < count; step++) series.present[step] = isMissing(step) ? 1 : 0;
    return series;
  }

  private compute(
    many: StepSeries,
    one: StepSeries,
    matches: DuplicateMatchCheck | undefined,
  ): void {
    const { expr, scope } = this;
    const operate = arithmeticOf(expr.op);
    const compare = comparisonOf(expr.op);
    let result: StepSeries | undefined;
    let key = "";
    for (let step = 0; step < scope.grid.count; step++) {
      if (many.present[step] === 0 || one.present[step] === 0) continue;
      const native = this.ofHistograms(many, one, step);
      if (native === "none") continue;
      if (result === undefined) {
        const labels = resultLabels(many.labels, one.labels, expr, this.matching, scope);
        key = labelKey(labels);
        result = this.seriesFor(key, labels);
      }
      matches?.add(key, step);
      const left = (this.swapped ? one.values[step] : many.values[step]) ?? 0;
      const right = (this.swapped ? many.values[step] : one.values[step]) ?? 0;
      let value: number;
      if (native !== undefined) {
        if (native === false && !expr.bool) continue;
        const kept = native === true ? histogramAt(this.leftOf(many, one), step) : native;
        if (typeof kept === "object" && !expr.bool) {
          if (result.present[step] !== 0) result = this.another(key, result);
          putHistogram(result, step, kept);
          continue;
        }
        value = Number(native !== false);
      } else if (operate !== undefined) value = operate(left, right);
      else {
        const keep = compare?.(left, right) ?? false;
        if (!keep && !expr.bool) continue;
        value = expr.bool ? Number(keep) : left;
      }
      if (result.present[step] !== 0) result = this.another(key, result);
      result.values[step] = value;
      result.present[step] = 1;
    }
  }

  private leftOf(many: StepSeries, one: StepSeries): StepSeries {
    return this.swapped ? one : many;
  }

  /** Returns the operator's result if an operand is a histogram; undefined if both are floats. */
  private ofHistograms(
    many: StepSeries,
    one: StepSeries,
    step: number,
  ): Histogram | boolean | "none" | undefined {
    const { expr } = this;
    const [left, right] = this.swapped ? [one, many] : [many, one];
    const isTrim = arithmeticOf(expr.op) === undefined && comparisonOf(expr.op) === undefined;
    const [a, b] = [histogramAt(left, step), histogramAt(right, step)];
    if (a === undefined && b === undefined && !isTrim) return undefined;
    const [x, y] = [a ?? left.values[step] ?? 0, b ?? right.values[step] ?? 0];
    return (
      operateOnHistograms(expr, x, y, (note) =>
        this.notes.put(step, this.orderOf(many) ?? this.orderOf(one) ?? 0, note),
      ) ?? "none"
    );
  }

  /** Index of a series among those of both sides; undefined for one that fills in for a missing side. */
  private orderOf(series: StepSeries): number | undefined {
    this.orders ??= new Map(this.all.map((one, index) => [one, index]));
    return this.orders.get(series);
  }

  private seriesFor(key: string, labels: LabelSet): StepSeries {
    let series = this.out.get(key);
    if (series === undefined) {
      series = newSeries(this.scope, labels, this.expr.bool);
      this.out.set(key, series);
    }
    return series;
  }

  /** Creates a separate series for equal labels at the same step, so that `settle` finds and rejects them. */
  private another(key: string, series: StepSeries): StepSeries {
    this.holdsEqual = true;
    return this.seriesFor(`${key}\u0000${this.out.size}`, series.labels);
  }
}

/** Detects two matches for one result within a signature, and tracks which steps have a match. */
class DuplicateMatchCheck {
  private readonly oneToOne: boolean;
  private readonly needed: boolean;
  private readonly count: number;
  private readonly seen = new Map<string, Uint8Array>();
  private readonly matched: Uint8Array | undefined;

  constructor(oneToOne: boolean, needed: boolean, count: number, tracksSteps: boolean) {
    this.oneToOne = oneToOne;
    this.needed = needed;
    this.count = count;
    this.matched = tracksSteps ? new Uint8Array(count) : undefined;
  }

  hasMatch(step: number): boolean {
    return this.matched?.[step] === 1;
  }

  add(key: string, step: number): void {
    if (this.matched !== undefined) this.matched[step] = 1;
    if (!this.needed) return;
    const which = this.oneToOne ? "" : key;
    let steps = this.seen.get(which);
    if (steps === undefined) this.seen.set(which, (steps = new Uint8Array(this.count)));
    if (steps[step] === 1) {
      throw executionError(
        this.oneToOne
          ? "multiple matches for labels: many-to-one matching must be explicit (group_left/group_right)"
          : "multiple matches for labels: grouping labels must ensure unique matches",
      );
    }
    steps[step] = 1;
  }
}

/** The labels used for matching. */
function matchLabels(labels: LabelSet, matching: VectorMatching): LabelSet {
  if (matching.on) return keepOnly(labels, new Set(matching.labels));
  return dropAll(labels, new Set(["__name__", ...matching.labels]));
}

/** The "many" side's labels, plus those that group_left or group_right copies from the "one" side. */
function resultLabels(
  many: LabelSet,
  one: LabelSet,
  expr: Binary,
  matching: VectorMatching,
  scope: EvalScope,
): LabelSet {
  const changesMetric = arithmeticOf(expr.op) !== undefined;
  const losesName = changesMetric || (expr.bool && !scope.run.options.delayedNameRemoval);
  let labels = losesName ? dropMetadata(many) : many;
  if (matching.card === "one-to-one") {
    const names = new Set(matching.labels);
    labels = matching.on ? keepOnly(labels, names) : dropAll(labels, names);
  }
  for (const name of matching.include)
    labels = withLabel(labels, name, labelValue(one, name) ?? "");
  return labels;
}
