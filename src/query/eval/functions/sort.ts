/** The sort functions. They only affect instant queries; range results are ordered by labels. */
import type { Span } from "../../ast.ts";
import { labelValue } from "../../../model/labels.ts";
import { compareLabels } from "../../labels.ts";
import type { EvalScope } from "../scope.ts";
import { floatsOf, isFloat, type StepSeries } from "../value.ts";

function warnInRange(span: Span, scope: EvalScope): boolean {
  if (scope.grid.instant) return false;
  const sentence =
    "sort is ineffective for range queries since results are always ordered by labels";
  scope.run.annotations.warn(sentence, span);
  return true;
}

export function sortByValue(
  series: readonly StepSeries[],
  ascending: boolean,
  span: Span,
  scope: EvalScope,
): readonly StepSeries[] {
  // Native histograms have no order, so they are left out.
  if (warnInRange(span, scope)) return series.map(floatsOf);
  return series
    .filter((one) => one.present[0] === isFloat)
    .sort((a, b) => byValue(a.values[0], b.values[0], ascending));
}

/** NaN is last in both directions. */
export function byValue(a = 0, b = 0, ascending: boolean): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
  return ascending ? a - b || 0 : b - a || 0;
}

export function sortByLabel(
  series: readonly StepSeries[],
  names: readonly string[],
  ascending: boolean,
  span: Span,
  scope: EvalScope,
): readonly StepSeries[] {
  if (warnInRange(span, scope)) return series;
  const sorted = [...series].sort((a, b) => {
    for (const name of names) {
      const left = labelValue(a.labels, name) ?? "";
      const right = labelValue(b.labels, name) ?? "";
      if (left !== right) return naturallyBefore(left, right) ? -1 : 1;
    }
    return compareLabels(a.labels, b.labels);
  });
  return ascending ? sorted : sorted.reverse();
}

/** Compares digits as numbers: "node2" comes before "node10". */
function naturallyBefore(a: string, b: string): boolean {
  const left = a.match(/\d+|\D+/g) ?? [];
  const right = b.match(/\d+|\D+/g) ?? [];
  for (const [index, chunk] of left.entries()) {
    const other = right[index];
    if (other === undefined) return false;
    const numbers = /^\d+$/.test(chunk) && /^\d+$/.test(other);
    const equal = numbers ? Number(chunk) === Number(other) : chunk === other;
    if (!equal) return numbers ? Number(chunk) < Number(other) : chunk < other;
    if (index === left.length - 1) return true;
    if (index === right.length - 1) return false;
  }
  return false;
}
