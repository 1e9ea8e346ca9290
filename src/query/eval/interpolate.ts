/** Interpolates between two samples. */
import { add, isReset, multiply, subtract } from "../../model/histogram/arithmetic.ts";
import { type Histogram, isCustom } from "../../model/histogram/histogram.ts";
import type { SampleColumn } from "../../model/select.ts";
import type { Annotations, HistogramOperation } from "../annotations.ts";
import type { Span } from "../ast.ts";

/** The target for annotations about histograms, and their position in the query. */
export interface Notes {
  readonly annotations: Annotations;
  readonly span: Span;
}

/** Linear interpolation from one sample to the next; a counter that decreased is assumed to have restarted from 0. */
export function interpolate(
  times: Float64Array,
  values: Float64Array,
  before: number,
  after: number,
  timeMs: number,
  isCounter: boolean,
): number {
  const last = values[after] ?? 0;
  let first = values[before] ?? 0;
  if (isCounter && last < first) first = 0;
  const start = times[before] ?? 0;
  return first + ((last - first) * (timeMs - start)) / ((times[after] ?? 0) - start);
}

/** Interpolates native histograms at a share of the distance between two. */
export function interpolateHistograms(
  before: Histogram,
  after: Histogram,
  share: number,
  isCounter: boolean,
  metric: string,
  notes: Notes,
): Histogram | undefined {
  if (share === 0) return before;
  if (share === 1) return after;
  if (isCounter && isReset(after, before)) return multiply(after, share);
  const change = combineHistograms(after, before, "subtraction", metric, notes);
  return change && combineHistograms(multiply(change, share), before, "addition", metric, notes);
}

/** A sum or difference; undefined, with a warning, if the buckets are incompatible. */
export function combineHistograms(
  a: Histogram,
  b: Histogram,
  operation: Exclude<HistogramOperation, "aggregation">,
  metric: string,
  { annotations, span }: Notes,
): Histogram | undefined {
  const result = operation === "addition" ? add(a, b) : subtract(a, b);
  if (result === undefined) annotations.mixedSchemas(metric, span);
  else if (result.boundsReconciled) annotations.boundsReconciled(operation, span);
  return result?.histogram;
}

interface NearbySamples {
  /** The range of samples that are near enough, and the first of them at or after the timestamp. */
  readonly from: number;
  readonly to: number;
  readonly next: number;
  readonly ref: number;
}

/** A native histogram interpolated between those before and after a timestamp; the previous one if none follows. */
export function smoothedHistogram(
  { times, histograms = [] }: Pick<SampleColumn, "times" | "histograms">,
  { from, to, next, ref }: NearbySamples,
  metric: string,
  notes: Notes,
): Histogram | undefined {
  if (histograms.slice(from, to).includes(undefined)) {
    notes.annotations.mixedSamples(metric, notes.span);
    return undefined;
  }
  if (next < to && times[next] === ref) return histograms[next];
  const before = next > from ? histograms[next - 1] : undefined;
  if (before === undefined) return undefined;
  const after = next < to ? histograms[next] : undefined;
  // The reset hint describes two samples, not a single one that is used again.
  if (after === undefined) return { ...before, resetHint: "unknown" };
  if (isCustom(before) !== isCustom(after)) {
    notes.annotations.mixedSchemas(metric, notes.span);
    return undefined;
  }
  const isCounter = before.resetHint !== "gauge" || after.resetHint !== "gauge";
  const start = times[next - 1] ?? 0;
  const share = (ref - start) / ((times[next] ?? 0) - start);
  return interpolateHistograms(before, after, share, isCounter, metric, notes);
}
