/** and, or, unless: filters series step by step by the series of the other side; values do not change. */
import type { SetOp, VectorMatching } from "../../ast.ts";
import { signature } from "../../labels.ts";
import { eachSeries, settleAll, takeMask, type EvalScope } from "../scope.ts";
import { isEmpty, type StepSeries } from "../value.ts";

export async function combineSets(
  op: SetOp,
  matching: VectorMatching,
  left: readonly StepSeries[],
  right: readonly StepSeries[],
  scope: EvalScope,
): Promise<readonly StepSeries[]> {
  const sign = signature(matching.labels, matching.on);
  const { count } = scope.grid;
  const other = op === "or" ? left : right;
  const has = new Map<string, Uint8Array>();
  await eachSeries(scope, other, (one) => {
    const key = sign(one.labels);
    let steps = has.get(key);
    if (steps === undefined) {
      takeMask(scope);
      has.set(key, (steps = new Uint8Array(count)));
    }
    for (let step = 0; step < count; step++) if (one.present[step] !== 0) steps[step] = 1;
  });
  if (op !== "or") return masked(left, sign, has, op === "and" ? 1 : 0, scope);
  return settleAll(scope, [...left, ...(await masked(right, sign, has, 0, scope))]);
}

/** Keeps the steps at which the presence on the other side equals `wanted`. */
async function masked(
  series: readonly StepSeries[],
  sign: (labels: StepSeries["labels"]) => string,
  has: ReadonlyMap<string, Uint8Array>,
  wanted: 0 | 1,
  scope: EvalScope,
): Promise<readonly StepSeries[]> {
  const out: StepSeries[] = [];
  await eachSeries(scope, series, (one) => {
    const steps = has.get(sign(one.labels));
    if (steps === undefined) {
      if (wanted === 0) out.push(one);
      return;
    }
    takeMask(scope);
    const present = one.present.map((is, step) => (steps[step] === wanted ? is : 0));
    const filtered = { ...one, present };
    if (!isEmpty(filtered)) out.push(filtered);
  });
  return out;
}
