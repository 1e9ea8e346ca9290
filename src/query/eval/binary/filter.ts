/**
 * Comparisons of selected series with a scalar, such as alert thresholds: processes series one by one and stores only
 * those that pass. Thousands of rules compare thousands of series, and hardly any passes.
 */
import type { Binary, Expr } from "../../ast.ts";
import { typeOf } from "../../check.ts";
import { comesOneByOne, visitOneByOne } from "../one-by-one.ts";
import { newSeries, settle, type EvalScope } from "../scope.ts";
import { asScalar, isHistogram, type StepSeries } from "../value.ts";
import { comparisonOf } from "./operate.ts";

export function isFilter(expr: Binary, scope: EvalScope): boolean {
  const sides = sidesOf(expr);
  return (
    sides !== undefined &&
    !expr.bool &&
    comparisonOf(expr.op) !== undefined &&
    comesOneByOne(sides.vector, scope)
  );
}

export async function filterOneByOne(
  expr: Binary,
  scope: EvalScope,
): Promise<readonly StepSeries[]> {
  const sides = sidesOf(expr);
  const compare = comparisonOf(expr.op);
  if (sides === undefined || compare === undefined) throw new Error("BUG: not a filter");
  const { count } = scope.grid;
  const limits = asScalar(await scope.evaluate(sides.scalar, scope));
  const keeps = (value: number, step: number): boolean => {
    const limit = limits[step] ?? 0;
    return sides.scalarLeft ? compare(limit, value) : compare(value, limit);
  };
  const out: StepSeries[] = [];
  await visitOneByOne(sides.vector, scope, ({ labels, dropName, values, present }) => {
    let passed: StepSeries | undefined;
    let points = 0;
    for (let step = 0; step < count; step++) {
      const value = values[step] ?? 0;
      if (present[step] === isHistogram) {
        const [left, right] = sides.scalarLeft ? ["float", "histogram"] : ["histogram", "float"];
        scope.run.annotations.incompatibleTypes(left, expr.op, right, expr.span);
      }
      if (present[step] !== 1 || !keeps(value, step)) continue;
      passed ??= newSeries(scope, labels, dropName);
      passed.values[step] = value;
      passed.present[step] = 1;
      points++;
    }
    if (passed === undefined) return;
    scope.run.hold(points);
    out.push(passed);
  });
  return settle(scope, out);
}

interface Sides {
  readonly vector: Expr;
  readonly scalar: Expr;
  readonly scalarLeft: boolean;
}

function sidesOf({ lhs, rhs }: Binary): Sides | undefined {
  const scalarLeft = typeOf(lhs) === "scalar";
  if (scalarLeft === (typeOf(rhs) === "scalar")) return undefined;
  return scalarLeft
    ? { vector: rhs, scalar: lhs, scalarLeft }
    : { vector: lhs, scalar: rhs, scalarLeft };
}
