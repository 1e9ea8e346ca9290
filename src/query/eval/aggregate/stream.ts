/**
 * An aggregation over what the store selects, or a range function of it, that adds one series after the other to its group
 * and keeps none: a sum over every series of a fleet then takes the memory of its groups.
 */
import type { Aggregate } from "../../ast.ts";
import type { LabelSet } from "../../../model/labels.ts";
import { comesOneByOne, visitOneByOne } from "../one-by-one.ts";
import { newSeries, type EvalScope } from "../scope.ts";
import { isEmpty, type StepSeries } from "../value.ts";
import { Groups } from "./group.ts";
import { reducerOf, type Reducer } from "./reducer.ts";

const streamed = new Set<Aggregate["op"]>(["sum", "avg", "min", "max", "count", "group"]);

export function isStreamed({ op, expr }: Aggregate, scope: EvalScope): boolean {
  return streamed.has(op) && comesOneByOne(expr, scope);
}

interface ReducedGroup {
  readonly out: StepSeries;
  readonly reducer: Reducer;
  dropName: boolean;
}

export async function reduceStream(
  expr: Aggregate,
  scope: EvalScope,
): Promise<readonly StepSeries[]> {
  const make = (labels: LabelSet): ReducedGroup => {
    const out = newSeries(scope, labels, false);
    const reducer = reducerOf(expr.op, out);
    if (reducer === undefined) throw new Error(`BUG: ${expr.op} needs all series at once`);
    return { out, reducer, dropName: false };
  };
  const groups = new Groups<ReducedGroup>(expr, make);
  const before = scope.run.heldSamples;
  await visitOneByOne(expr.expr, scope, (series) => {
    const group = groups.of(series.labels);
    group.dropName ||= series.dropName;
    group.reducer.add(series);
  });
  // What the scalar arguments of a range function held.
  scope.run.release(scope.run.heldSamples - before);
  const reduced: StepSeries[] = [];
  for (const { out, reducer, dropName } of groups.all()) {
    reducer.finish();
    if (!isEmpty(out)) reduced.push({ ...out, dropName });
  }
  return reduced;
}
