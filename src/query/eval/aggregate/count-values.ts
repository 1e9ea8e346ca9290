/** count_values: how many series have each value, the value as a label. */
import type { Aggregate } from "../../ast.ts";
import { labelKey, type LabelSet } from "../../../model/labels.ts";
import { executionError } from "../../errors.ts";
import { dropAll, keepOnly, withLabel } from "../../labels.ts";
import { printFloat } from "../../number.ts";
import { isLabelName, quote } from "../../quote.ts";
import { eachSeries, newSeries, type EvalScope } from "../scope.ts";
import type { StepSeries } from "../value.ts";

export async function countValues(
  expr: Aggregate,
  label: string,
  series: readonly StepSeries[],
  scope: EvalScope,
): Promise<readonly StepSeries[]> {
  if (!isLabelName(label)) throw executionError(`invalid label name ${quote(label)}`);
  const names = new Set(expr.without ? [...expr.grouping, "__name__"] : [...expr.grouping, label]);
  const out = new Map<string, StepSeries>();
  const outputFor = (labels: LabelSet, value: number): StepSeries => {
    const counted = withLabel(labels, label, printFloat(value));
    const group = expr.without ? dropAll(counted, names) : keepOnly(counted, names);
    const key = labelKey(group);
    let found = out.get(key);
    if (found === undefined) {
      out.set(key, (found = newSeries(scope, group, false)));
    }
    return found;
  };
  await eachSeries(scope, series, (one) => {
    const known = new Map<number, StepSeries>();
    for (let step = 0; step < scope.grid.count; step++) {
      if (one.present[step] !== 1) continue;
      const value = one.values[step] ?? 0;
      let counted = known.get(value);
      if (counted === undefined || Object.is(value, -0) || value === 0) {
        counted = outputFor(one.labels, value);
        known.set(value, counted);
      }
      counted.values[step] = (counted.values[step] ?? 0) + 1;
      counted.present[step] = 1;
    }
  });
  return [...out.values()];
}
