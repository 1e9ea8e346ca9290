/** Compares expected and actual results; differences are listed line by line. */
import { formatError } from "../../base/error.ts";
import { compact, equalHistograms } from "../../model/histogram/histogram.ts";
import { readHistogram } from "../../model/histogram/notation.ts";
import { labelKey, type LabelSet } from "../../model/labels.ts";
import { compareLabels, printLabels } from "../../query/labels.ts";
import { printDurationMs, printFloat, printHistogram } from "../../query/number.ts";
import { quote } from "../../query/quote.ts";
import type { VectorSample } from "../../query/result.ts";
import { samplesOf } from "../rules/context.ts";
import type { RuleAlert } from "../rules/types.ts";
import type { AlertCase, ExprCase } from "./file.ts";
import type { MemoryHistory } from "./history.ts";
import { readMetric } from "./metric.ts";
import type { RuleTestFailure } from "./run.ts";

interface ComparedAlert {
  readonly labels: LabelSet;
  readonly annotations: LabelSet;
}

export function checkAlerts(
  { alertname, eval_time: timeMs, exp_alerts: wanted }: AlertCase,
  firing: readonly RuleAlert[],
): RuleTestFailure | undefined {
  const expected = wanted.map((one) => ({
    labels: sorted({ ...one.exp_labels, alertname }),
    annotations: sorted(one.exp_annotations),
  }));
  const got = firing.map(({ labels, annotations }) => ({
    labels: sorted(Object.fromEntries(labels)),
    annotations: sorted(annotations),
  }));
  const [left, right] = [expected.sort(byLabels).map(keyOf), got.sort(byLabels).map(keyOf)];
  if (left.length === right.length && left.every((key, index) => key === right[index]))
    return undefined;
  return {
    what: `alert ${alertname} at ${printDurationMs(timeMs)}`,
    why: `expected ${counted(expected.length)}, got ${counted(got.length)}`,
    expected: expected.map(formatComparedAlert),
    got: got.map(formatComparedAlert),
  };
}

export async function checkExpr(
  { expr, eval_time: timeMs, exp_samples: wanted }: ExprCase,
  startMs: number,
  history: MemoryHistory,
  fuzzy: boolean,
): Promise<RuleTestFailure | undefined> {
  const what = `expr ${quote(expr)} at ${printDurationMs(timeMs)}`;
  try {
    const expected = wanted.map(({ labels, value, histogram }) => ({
      labels: readMetric(labels),
      value,
      histogram: histogram === "" ? undefined : compact(readHistogram(histogram)),
    }));
    const result = samplesOf(await history.instant(expr, startMs + timeMs));
    const got = [...result].sort((left, right) => compareLabels(left.labels, right.labels));
    expected.sort((left, right) => compareLabels(left.labels, right.labels));
    const same =
      expected.length === got.length &&
      expected.every(({ labels, value, histogram }, index) => {
        const other = got[index];
        if (other === undefined || labelKey(labels) !== labelKey(other.labels)) return false;
        if (histogram === undefined || other.histogram === undefined)
          return histogram === other.histogram && isSame(value, other.value, fuzzy);
        return equalHistograms(histogram, compact(other.histogram));
      });
    if (same) return undefined;
    return {
      what,
      why: "the result differs",
      expected: expected.map(formatSample),
      got: got.map(formatSample),
    };
  } catch (thrown) {
    return { what, why: formatError(thrown) };
  }
}

/** As in promtool, NaN never equals an expected value. With `fuzzy`, the adjacent floating-point number is accepted. */
function isSame(expected: number, got: number, fuzzy: boolean): boolean {
  return expected === got || (fuzzy && (next(expected, 1) === got || next(expected, -1) === got));
}

/** The adjacent floating-point number, in the direction of the sign. */
function next(value: number, direction: 1 | -1): number {
  if (!Number.isFinite(value)) return value;
  if (value === 0) return direction * Number.MIN_VALUE;
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const away = value > 0 === direction > 0;
  view.setBigInt64(0, view.getBigInt64(0) + (away ? 1n : -1n));
  return view.getFloat64(0);
}

const sorted = (labels: Readonly<Record<string, string>>): LabelSet =>
  Object.entries(labels).sort(([left], [right]) => (left < right ? -1 : 1));

const byLabels = (left: ComparedAlert, right: ComparedAlert): number =>
  compareLabels(left.labels, right.labels) || compareLabels(left.annotations, right.annotations);

const keyOf = ({ labels, annotations }: ComparedAlert): string =>
  `${labelKey(labels)}\u0000${labelKey(annotations)}`;

const formatComparedAlert = ({ labels, annotations }: ComparedAlert): string =>
  annotations.length === 0
    ? printLabels(labels)
    : `${printLabels(labels)} annotations ${printLabels(annotations)}`;

const formatSample = ({ labels, value, histogram }: Omit<VectorSample, "timeMs">): string =>
  `${printLabels(labels)} ${histogram === undefined ? printFloat(value) : printHistogram(histogram)}`;

const counted = (count: number): string =>
  count === 0 ? "no alert" : count === 1 ? "1 alert" : `${count} alerts`;
