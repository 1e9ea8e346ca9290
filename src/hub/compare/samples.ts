/**
 * Samples of the history prepared for a comparison: only real samples, each once. A long range is condensed to means of equal
 * cells, with the number of samples in each; no value is held over or repeated.
 */
import type { History } from "../../storage/history.ts";
import { labelKey, type LabelSet } from "../../model/labels.ts";
import { quote } from "../../query/quote.ts";
import type { MatrixSeries } from "../../query/result.ts";
import type { Matcher, Queryable } from "../../model/select.ts";

export type SampleHistory = Pick<History, "range" | "instant"> & Queryable;

export interface SampleSeries {
  readonly labels: LabelSet;
  readonly timeMs: Float64Array;
  /** NaN at the end of the series (a staleness marker). */
  readonly values: Float64Array;
  /** Number of samples behind each value; absent if each value is one sample. */
  readonly counts?: Float64Array;
}

export interface SampleRange {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Points of a condensed range: enough for percentiles, few enough for the autocorrelation. */
const MOST_POINTS = 3_600;
/** Ranges up to this length are read sample by sample: 7,200 per series at one sample per second. */
const RAW_RANGE_MS = 2 * 3_600_000;

export const stepMsFor = ({ fromMs, toMs }: SampleRange): number =>
  Math.max(1_000, Math.ceil((toMs - fromMs) / MOST_POINTS / 1_000) * 1_000);

export async function readSamples(
  history: SampleHistory,
  matchers: readonly Matcher[],
  kind: "gauge" | "counter",
  range: SampleRange,
  signal?: AbortSignal,
): Promise<readonly SampleSeries[]> {
  const { fromMs, toMs } = range;
  if (toMs - fromMs > RAW_RANGE_MS) return condensed(history, matchers, kind, range, signal);
  return (await history.select(matchers, fromMs, toMs, signal)).map(({ labels, column }) => ({
    labels,
    timeMs: column.times,
    values:
      column.stale === undefined
        ? column.values
        : column.values.map((value, at) => (column.stale?.[at] === 1 ? Number.NaN : value)),
  }));
}

async function condensed(
  history: SampleHistory,
  matchers: readonly Matcher[],
  kind: "gauge" | "counter",
  range: SampleRange,
  signal?: AbortSignal,
): Promise<readonly SampleSeries[]> {
  const stepMs = stepMsFor(range);
  const selector = `{${matchers.map(({ name, op, value }) => `${name}${op}${quote(value)}`).join(",")}}`;
  const ask = async (name: string): Promise<readonly MatrixSeries[]> => {
    const { data } = await history.range(
      `${name}_over_time(${selector}[${stepMs / 1_000}s])`,
      range.fromMs + stepMs,
      range.toMs,
      stepMs,
      signal === undefined ? {} : { signal },
    );
    return data.type === "matrix" ? data.series : [];
  };
  const [values, counts] = await Promise.all([
    ask(kind === "gauge" ? "avg" : "last"),
    ask("count"),
  ]);
  const countOf = new Map(counts.map((series) => [keyOf(series.labels), series.values]));
  return values.map((series) => ({
    labels: series.labels,
    // The mean of a gauge belongs to the middle of its cell, the last value of a counter to the end.
    timeMs: kind === "gauge" ? series.times.map((time) => time - stepMs / 2) : series.times,
    values: series.values,
    counts: countOf.get(keyOf(series.labels)) ?? new Float64Array(series.values.length).fill(1),
  }));
}

/** Most functions over time drop the metric's name, `last_over_time` does not. */
const keyOf = (labels: LabelSet): string =>
  labelKey(labels.filter(([name]) => name !== "__name__"));
