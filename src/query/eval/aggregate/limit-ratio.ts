/** limit_ratio: a share of the series, chosen deterministically by a hash of their labels. */
import { Buffer } from "node:buffer";
import type { Aggregate } from "../../ast.ts";
import type { LabelSet } from "../../../model/labels.ts";
import { executionError } from "../../errors.ts";
import { printShortest } from "../../number.ts";
import { takeMask, type EvalScope } from "../scope.ts";
import { isEmpty, type StepSeries } from "../value.ts";
import { extremes, type SeriesGroup } from "./group.ts";
import { xxhash64 } from "./xxhash64.ts";

export function limitRatio(
  expr: Aggregate,
  ratios: Float64Array,
  groups: readonly SeriesGroup[],
  scope: EvalScope,
): readonly StepSeries[] {
  if (ratios.every((ratio) => ratio === 0)) return [];
  const span = expr.param?.span ?? expr.span;
  if (ratios.some((ratio) => Number.isNaN(ratio))) throw executionError("Ratio value is NaN");
  const cap = (ratio: number, to: number): void => {
    const sentence = `ratio value should be between -1 and 1, got ${printShortest(ratio)}, capping to ${to}`;
    scope.run.annotations.warn(sentence, span);
  };
  const [lowest, highest] = extremes(ratios);
  if (highest > 1) cap(highest, 1);
  if (lowest < -1) cap(lowest, -1);
  const out = groups.flatMap(({ series }) =>
    series.map((one) => {
      takeMask(scope);
      const offset = offsetOf(one.labels);
      return {
        ...one,
        present: one.present.map((is, step) => (chosen(ratios[step] ?? 0, offset) ? is : 0)),
      };
    }),
  );
  return out.filter((one) => !isEmpty(one));
}

/** A negative ratio selects the complement of the positive ratio 1 + ratio. */
function chosen(ratio: number, offset: number): boolean {
  if (ratio === 0) return false;
  const capped = Math.min(1, Math.max(-1, ratio));
  return capped >= 0 ? offset < capped : offset >= 1 + capped;
}

/** Maps a label set to [0, 1] with Prometheus's hash of its label encoding. */
function offsetOf(labels: LabelSet): number {
  const parts: Buffer[] = [];
  for (const text of labels.flat()) {
    const bytes = Buffer.from(text);
    const { length } = bytes;
    parts.push(
      length < 255
        ? Buffer.from([length])
        : Buffer.from([255, length & 255, (length >> 8) & 255, (length >> 16) & 255]),
      bytes,
    );
  }
  return Number(xxhash64(Buffer.concat(parts))) / 2 ** 64;
}
