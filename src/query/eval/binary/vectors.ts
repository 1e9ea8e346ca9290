/** Arithmetic and comparison between vectors: series are paired by signature once, then computed for all steps. */
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
import { operateOnHistograms } from "./histograms.ts";
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
  // One-to-many is many-to-one seen from the other side.
  const swapped = matching.card === "one-to-many";
  const many = swapped ? right : left;
  const one = swapped ? left : right;
  const join = new Join(expr, matching, scope, swapped);
  const pairs = await pairUp(many, one, signature(matching.labels, matching.on), scope);
  if ([...pairs.values()].some((pair) => pair.one.length > 1))
    refuseDuplicates(pairs, many, matching, swapped, scope);
  for (const pair of pairs.values()) {
    if (scope.run.isDue()) await scope.run.breathe();
    join.pair(pair);
  }
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

/** Two series of one signature on the "one" side at the same step are ambiguous. */
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
      const both = `[${printLabels(second.labels)}, ${printLabels(first.labels)}]`;
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
  holdsEqual = false;

  constructor(expr: Binary, matching: VectorMatching, scope: EvalScope, swapped: boolean) {
    this.expr = expr;
    this.matching = matching;
    this.scope = scope;
    this.swapped = swapped;
  }

  results(): readonly StepSeries[] {
    return [...this.out.values()].filter((series) => !isEmpty(series));
  }

  /** All series of one signature. The sides are "many" and "one", which for one-to-one mean left and right. */
  pair(pair: Pair): void {
    const { count } = this.scope.grid;
    const { fillLeft: fillMany, fillRight: fillOne } = this.matching;
    const matches = new DuplicateMatchCheck(
      this.matching.card === "one-to-one",
      pair.many.length > 1,
      count,
    );
    for (const series of pair.many) {
      for (const other of pair.one) this.compute(series, other, matches);
      if (fillOne !== undefined)
        this.compute(series, filled(series, pair.one, fillOne, this.matching, count), matches);
    }
    if (fillMany === undefined) return;
    for (const other of pair.one) {
      this.compute(filled(other, pair.many, fillMany, this.matching, count), other, undefined);
    }
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

  /** What the operator makes of operands that are not both floats it takes; undefined where they are. */
  private ofHistograms(
    many: StepSeries,
    one: StepSeries,
    step: number,
  ): Histogram | boolean | "none" | undefined {
    const { expr, scope } = this;
    const [left, right] = this.swapped ? [one, many] : [many, one];
    const isTrim = arithmeticOf(expr.op) === undefined && comparisonOf(expr.op) === undefined;
    const [a, b] = [histogramAt(left, step), histogramAt(right, step)];
    if (a === undefined && b === undefined && !isTrim) return undefined;
    const [x, y] = [a ?? left.values[step] ?? 0, b ?? right.values[step] ?? 0];
    return operateOnHistograms(expr, x, y, scope) ?? "none";
  }

  private seriesFor(key: string, labels: LabelSet): StepSeries {
    let series = this.out.get(key);
    if (series === undefined) {
      series = newSeries(this.scope, labels, this.expr.bool);
      this.out.set(key, series);
    }
    return series;
  }

  /** Equal labels twice at one step: stored separately, so that `settle` finds and refuses them. */
  private another(key: string, series: StepSeries): StepSeries {
    this.holdsEqual = true;
    return this.seriesFor(`${key}\u0000${this.out.size}`, series.labels);
  }
}

/** Stands in for the missing side wherever none of its series has a value. */
function filled(
  present: StepSeries,
  missing: readonly StepSeries[],
  fill: number,
  matching: VectorMatching,
  count: number,
): StepSeries {
  const series = emptySeries(matchLabels(present.labels, matching), false, count);
  series.values.fill(fill);
  for (let step = 0; step < count; step++) {
    series.present[step] = missing.some((other) => other.present[step] !== 0) ? 0 : 1;
  }
  return series;
}

/** Finds two matches for one result within a signature. */
class DuplicateMatchCheck {
  private readonly oneToOne: boolean;
  private readonly needed: boolean;
  private readonly count: number;
  private readonly seen = new Map<string, Uint8Array>();

  constructor(oneToOne: boolean, needed: boolean, count: number) {
    this.oneToOne = oneToOne;
    this.needed = needed;
    this.count = count;
  }

  add(key: string, step: number): void {
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

/** The labels both sides were matched by. */
function matchLabels(labels: LabelSet, matching: VectorMatching): LabelSet {
  if (matching.on) return keepOnly(labels, new Set(matching.labels));
  return dropAll(labels, new Set(["__name__", ...matching.labels]));
}

/** The "many" side's labels, with those group_left or group_right takes from the "one" side. */
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
