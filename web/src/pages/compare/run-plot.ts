/** The chart of a metric over recorded runs: ticks, labels and paths, for the page and for a picture. Pure. */
import type { Comparison } from "../../../../src/runs/compare/compare.ts";
import type { Curve, Points } from "../../../../src/runs/compare/curves.ts";
import type { CompareUnit } from "../../../../src/runs/compare/metrics.ts";
import { formatNumber, sizeOf } from "../../../../src/runs/compare/quantity.ts";
import { pathOf } from "../../../../src/runs/compare/report/time-chart.ts";
import { ticksOf } from "../../../../src/lake/analyses/report/chart.ts";
import { quoted } from "../../chart/export.ts";

export const [plotWidth, plotHeight] = [560, 200] as const;
export const plotEdge = { left: 54, right: 10, top: 10, bottom: 24 } as const;

export interface RunPlot {
  /** `Power (W)`. */
  readonly caption: string;
  readonly ticks: readonly { readonly y: number; readonly text: string }[];
  readonly times: readonly {
    readonly x: number;
    readonly text: string;
    readonly anchor: "start" | "middle" | "end";
  }[];
  /** A line per run; `subject` is the index of its subject. */
  readonly lines: readonly { readonly subject: number; readonly path: string }[];
}

interface SubjectRun {
  readonly subject: number;
  /** Index of the run within its subject. */
  readonly run: number;
  readonly points: Points;
}

const runsOf = (curve: Curve): SubjectRun[] =>
  curve.of.flatMap((own, subject) => own.map((points, run) => ({ subject, run, points })));

export function runPlotOf(title: string, unit: CompareUnit, curve: Curve): RunPlot {
  const runs = runsOf(curve);
  const known = runs.flatMap(({ points }) => points.values.filter((one) => one !== null));
  const most = known.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  const least = known.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const size = sizeOf(most, unit);
  const ticks = ticksOf(least / size.divisor, most / size.divisor);
  const [low = 0, high = 1] = [ticks[0], ticks.at(-1)];
  const seconds = Math.max(...runs.map(({ points }) => points.stepSeconds * points.values.length));
  const { left, right, top, bottom } = plotEdge;
  const x = (at: number): number => left + ((plotWidth - left - right) * at) / seconds;
  const y = (value: number): number =>
    top + (plotHeight - top - bottom) * (1 - (value / size.divisor - low) / (high - low || 1));
  return {
    caption: `${title} (${size.unit})`,
    ticks: ticks.map((tick) => ({ y: y(tick * size.divisor), text: formatNumber(tick) })),
    times: ticksOf(0, seconds)
      .filter((at) => at <= seconds)
      .map((at) => ({
        x: x(at),
        text: `${formatNumber(at)} s`,
        anchor: at === 0 ? "start" : at > 0.95 * seconds ? "end" : "middle",
      })),
    lines: runs.map(({ subject, points }) => ({
      subject,
      path: pathOf(points.values, (place) => x((place + 0.5) * points.stepSeconds), y),
    })),
  };
}

/** One row per run and step, because runs may have different steps. A missing reading is an empty cell, never a 0. */
export function runCsvOf(
  { title, unit }: { readonly title: string; readonly unit: CompareUnit },
  { subjects }: Pick<Comparison, "subjects">,
  curve: Curve,
): string {
  const rows = runsOf(curve).flatMap(({ subject, run, points }) => {
    const { name = "", runs = [] } = subjects[subject] ?? {};
    return points.values.map((value, at) => {
      const seconds = Number(((at + 0.5) * points.stepSeconds).toPrecision(9));
      return [
        quoted(name),
        quoted(runs[run]?.name ?? String(run + 1)),
        seconds,
        value ?? "",
      ].join();
    });
  });
  return `# ${title}\n# unit ${unit}, seconds from the start of each run\nsubject,run,seconds,value\n${rows.join("\n")}\n`;
}

/** The GPUs of the runs as `NVIDIA H200 on node-1`, without repetition. */
export const runGpus = ({ subjects }: Pick<Comparison, "subjects">): string =>
  [
    ...new Set(
      subjects.flatMap(({ runs }) =>
        runs.flatMap(({ gpus }) => gpus.map(({ model, host }) => `${model} on ${host}`)),
      ),
    ),
  ].join(", ");
