/** Series into groups by the labels of by or without. */
import type { Aggregate } from "../../ast.ts";
import { noLabels, type LabelSet } from "../../../model/labels.ts";
import { dropAll, keepOnly, signature } from "../../labels.ts";
import type { StepSeries } from "../value.ts";

export interface Group {
  readonly labels: LabelSet;
  readonly series: StepSeries[];
}

/** Both NaN when any is. */
export function extremes(params: Float64Array): [lowest: number, highest: number] {
  return [
    params.reduce((least, value) => Math.min(least, value), Infinity),
    params.reduce((most, value) => Math.max(most, value), -Infinity),
  ];
}

export function groupsOf(expr: Aggregate, input: readonly StepSeries[]): readonly Group[] {
  const names = new Set(expr.grouping);
  const sign = signature(expr.grouping, !expr.without);
  if (expr.without) names.add("__name__");
  const groups = new Map<string, Group>();
  for (const one of input) {
    const key = sign(one.labels);
    let group = groups.get(key);
    if (group === undefined) {
      const labels = expr.without
        ? dropAll(one.labels, names)
        : names.size === 0
          ? noLabels
          : keepOnly(one.labels, names);
      groups.set(key, (group = { labels, series: [] }));
    }
    group.series.push(one);
  }
  return [...groups.values()];
}
