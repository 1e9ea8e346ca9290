/** The readings of every run from its start on, downsampled for a chart: the mean of each step. */
import { readings } from "./figures.ts";
import type { Metric } from "./metrics.ts";
import type { RunSeries, ComparisonSubject } from "./series.ts";

export interface Curve {
  readonly metric: string;
  /** In the order of the subjects, and of their runs. */
  readonly of: readonly (readonly Points[])[];
}

export interface Points {
  /** Steps count from the start of the run. */
  readonly stepSeconds: number;
  /** Null without a reading. */
  readonly values: readonly (number | null)[];
}

const charted = ["power", "utilization", "edge", "hotspot", "clock", "memory", "fan"];
const MOST_POINTS = 240;
/** Maximum number of runs drawn per subject: more would hide each other. */
const MOST_RUNS = 12;

export function curvesOf(
  subjects: readonly ComparisonSubject[],
  metrics: readonly Metric[],
): Curve[] {
  return charted.flatMap((key) => {
    const metric = metrics.find((one) => one.key === key);
    if (metric === undefined) return [];
    const of = subjects.map(({ runs }) =>
      runs.slice(0, MOST_RUNS).map((run) => pointsOf(run, metric)),
    );
    const any = of.some((runs) => runs.some(({ values }) => values.some((one) => one !== null)));
    return any ? [{ metric: key, of }] : [];
  });
}

function pointsOf(run: RunSeries, { sampled }: Metric): Points {
  const { startMs, endMs, samplingMs } = run;
  const stepMs = Math.max(samplingMs, (endMs - startMs) / MOST_POINTS, 1);
  const count = Math.max(1, Math.ceil((endMs - startMs) / stepMs));
  const values = Array.from({ length: count }, (): number | null => null);
  if (sampled === undefined) return { stepSeconds: stepMs / 1_000, values };
  const sums = new Float64Array(count);
  const counts = new Float64Array(count);
  const found = readings(run, sampled, startMs, endMs);
  if ("why" in found) return { stepSeconds: stepMs / 1_000, values };
  found.values.forEach((value, at) => {
    const slot = Math.min(count - 1, Math.floor(((found.timeMs[at] ?? 0) - startMs) / stepMs));
    sums[slot] = (sums[slot] ?? 0) + value;
    counts[slot] = (counts[slot] ?? 0) + 1;
  });
  return {
    stepSeconds: stepMs / 1_000,
    values: values.map((_, at) => {
      const many = counts[at] ?? 0;
      return many === 0 ? null : Number(((sums[at] ?? 0) / many).toPrecision(6));
    }),
  };
}
