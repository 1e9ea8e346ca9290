/** absent(), and the labels that it and absent_over_time() derive from their selector. */
import type { Expr } from "../../ast.ts";
import { labelSet, noLabels, type LabelSet } from "../../../model/labels.ts";
import type { EvalScope } from "../scope.ts";
import { emptySeries, type StepSeries } from "../value.ts";

/** The labels from the selector's equality matchers. A label with two matchers is left out. */
export function absentLabels(expr: Expr): LabelSet {
  const selector = expr.kind === "matrix" ? expr.selector : expr;
  if (selector.kind !== "vector") return noLabels;
  const wanted: Record<string, string | undefined> = {};
  const seen = new Set<string>();
  for (const { name, op, value } of selector.matchers) {
    if (name === "__name__") continue;
    if (op === "=" && !seen.has(name)) {
      wanted[name] = value;
      seen.add(name);
    } else {
      wanted[name] = undefined;
    }
  }
  return labelSet(wanted);
}

export function absent(
  expr: Expr,
  series: readonly StepSeries[],
  scope: EvalScope,
): readonly StepSeries[] {
  const out = emptySeries(absentLabels(expr), false, scope.grid.count);
  for (let step = 0; step < scope.grid.count; step++) {
    if (series.some((one) => one.present[step] !== 0)) continue;
    out.values[step] = 1;
    out.present[step] = 1;
  }
  return [out];
}
