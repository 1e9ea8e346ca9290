/** A comparison as rows of text that every report uses: means with their intervals, differences, verdicts. Pure. */
import type { ComparedMetric, ComparedRun, Comparison, SubjectFigures } from "../compare.ts";
import type { Difference } from "../difference.ts";
import {
  decimalsFor,
  formatDecimals,
  formatMeasurement,
  formatNumber,
  sizeOf,
} from "../quantity.ts";
import { formatDifference, formatInterval, verdictWords, workUnit } from "../words.ts";

export interface MetricRow {
  readonly metric: ComparedMetric;
  readonly title: string;
  /** One per subject. */
  readonly means: readonly string[];
  /** One per subject from the second on. */
  readonly differences: readonly DifferenceCell[];
}

export interface DifferenceCell {
  readonly difference: string;
  readonly interval: string;
  readonly verdict: string;
  readonly why?: string;
}

export interface SpreadRow {
  readonly title: string;
  readonly unit: string;
  readonly subject: number;
  readonly run: string;
  readonly cells: readonly string[];
}

export const spreadHeads = ["min", "p1", "p50", "p99", "max", "mean", "readings"] as const;

/** `3 repeats`, or `8 windows` of a time range. */
export const repeatsText = (basis: Comparison["basis"], count: number): string =>
  `${count} ${basis === "runs" ? "repeat" : "window"}${count === 1 ? "" : "s"}`;

/** What bounded the GPUs of a run: one text if it is the same for all, else one per GPU. Empty if nothing is known. */
export function boundTexts({ gpus }: ComparedRun): readonly string[] {
  const found = gpus.map(({ boundBy }) => boundBy?.replace(/^bound by /, ""));
  const [first] = found;
  if (found.every((text) => text === first)) return first === undefined ? [] : [first];
  return found.map((text, at) => `GPU ${at}: ${text ?? "n/a"}`);
}

/** One sentence per run of which anything is known: what bounded its GPUs, and model FLOP utilisation. */
export function boundSentences({ subjects }: Comparison): readonly string[] {
  return subjects.flatMap(({ name, runs }) =>
    runs.flatMap((run) => {
      const facts = [boundTexts(run).join(", "), run.mfu ?? ""].filter((text) => text !== "");
      return facts.length === 0 ? [] : [`${name}, ${run.name}: ${facts.join("; ")}`];
    }),
  );
}

export function metricRows(comparison: Comparison): readonly MetricRow[] {
  const units = comparison.subjects.map(workUnit);
  return comparison.metrics.map((metric) => ({
    metric,
    title: metric.title,
    means: metric.of.map((one, at) => meanText(metric, one, units[at] ?? "units")),
    differences: metric.differences.map((one) => differenceCell(metric, one)),
  }));
}

function meanText(
  { unit }: ComparedMetric,
  { mean, interval, why }: SubjectFigures,
  work: string,
): string {
  if (mean === undefined) return `n/a: ${why ?? "no reading of it"}`;
  if (interval === undefined) return formatMeasurement(mean, unit, work);
  const { divisor, unit: name } = sizeOf(mean, unit, work);
  const half = (interval.high - interval.low) / 2 / divisor;
  if (half <= 1e-6 * Math.abs(mean / divisor)) return formatMeasurement(mean, unit, work);
  const decimals = decimalsFor(
    half,
    Math.max(Math.abs(interval.low), Math.abs(interval.high)) / divisor,
  );
  const [low, high] = [interval.low, interval.high].map((one) =>
    formatDecimals(one / divisor, decimals),
  );
  return `${formatDecimals(mean / divisor, decimals)}${name === "" ? "" : `\u00a0${name}`} (${low ?? ""} to ${high ?? ""})`;
}

function differenceCell(metric: ComparedMetric, difference: Difference): DifferenceCell {
  const { verdict, why, amount, low, high } = difference;
  return {
    difference:
      amount === undefined ? "n/a" : amount === 0 ? "0" : formatDifference(metric, difference),
    interval:
      low === undefined || high === undefined || low === high
        ? "–"
        : formatInterval(metric, difference),
    verdict: verdictWords[verdict],
    ...(why === undefined ? {} : { why }),
  };
}

/** The distribution within every run. */
export function spreadRows({ metrics, subjects, basis }: Comparison): readonly SpreadRow[] {
  return metrics
    .filter(({ key }) => !key.startsWith("throttle."))
    .flatMap((metric) =>
      metric.of.flatMap(({ distributions }, subject) =>
        distributions.flatMap((one, at) => {
          if (one === null) return [];
          const { divisor, unit } = sizeOf(one.max, metric.unit);
          return [
            {
              title: metric.title,
              unit,
              subject,
              run: basis === "windows" ? "whole range" : (subjects[subject]?.runs[at]?.name ?? ""),
              cells: [
                ...[one.min, one.p1, one.p50, one.p99, one.max, one.mean].map((value) =>
                  formatNumber(value / divisor),
                ),
                String(one.count),
              ],
            },
          ];
        }),
      ),
    );
}

/** How the numbers were calculated, for the end of a report. */
export function methodText({ basis, paired, level, seed }: Comparison): string {
  const percent = `${Math.round(100 * level)} %`;
  const unit =
    basis === "runs"
      ? "A repeat counts once, as the time-weighted mean of its run; readings within a run follow each other and are never counted as repeats."
      : "The time range was cut into equal windows that are long against the time over which readings follow each other; each counts once. Readings that never change are compared as they are: beyond the metric's resolution they differ.";
  const test = paired
    ? "Differences are of windows at the same time (paired t)."
    : "Differences are by Welch's t.";
  return `${unit}${basis === "runs" ? ` Intervals of means are ${percent} intervals by the bootstrap over repeats (seed ${seed}), widened as few repeats need it.` : ""} ${test} Rates, energies and clocks are compared as ratios, watts, degrees and shares as differences. A real difference is at the ${percent} level of each metric by itself: of twenty metrics that do not differ, one will look as if it did. No difference means that the interval lies within the metric's resolution; anything between cannot be decided yet. Power is what the devices' own sensors say; it is not power at the wall and not MLPerf power.`;
}
