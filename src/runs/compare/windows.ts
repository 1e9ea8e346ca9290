/**
 * Compares time ranges of the history, cut into windows that act as repeats (batch means). Readings are correlated, so a window
 * must be long compared with their correlation time; otherwise nothing is decided.
 */
import {
  type DecisionNeeds,
  type Difference,
  differenceOf,
  differenceOfConstants,
  formatNeeds,
  type SteadyPart,
  tooSmall,
} from "./difference.ts";
import { usualDistance, weighReadings, type WeightedReadings } from "./distribution.ts";
import { type FigureValue, readings } from "./figures.ts";
import type { Metric } from "./metrics.ts";
import type { RunSeries } from "./series.ts";

const WINDOWS = 8;
/** The means of windows of eight times the integrated autocorrelation time are nearly uncorrelated. */
const TIMES_PER_WINDOW = 8;
const FEWEST_READINGS = 5;
/** A gap may remove windows, as long as enough remain to estimate a spread. */
const FEWEST_WINDOWS = 4;
/** An estimate of more than this many times the existing readings is meaningless. */
const MOST_TIMES_MORE = 100;
/** Two ranges this many times further apart than the spread of all readings differ, however correlated the readings are. */
const TIMES_THE_SPREAD = 5;
/** A rate calculated from a counter varies by this share through rounding alone. */
const RATE_ROUNDING = 1e-6;

/** Returns the work done in a time range. */
export type WorkIn = (fromMs: number, toMs: number) => RunSeries["work"];

export function windowsOf(whole: RunSeries, workIn: WorkIn, count = WINDOWS): readonly RunSeries[] {
  const stepMs = (whole.endMs - whole.startMs) / count;
  return Array.from({ length: count }, (_, at) => {
    const [startMs, endMs] = [whole.startMs + at * stepMs, whole.startMs + (at + 1) * stepMs];
    return {
      ...whole,
      name: `${at + 1} of ${count}`,
      startMs,
      endMs,
      work: workIn(startMs, endMs),
    };
  });
}

/** One subject of a comparison by windows: its whole range, and the metric's value over the range and over each window. */
export interface WindowedSubject {
  readonly whole: RunSeries;
  readonly value: FigureValue;
  readonly windows: readonly FigureValue[];
}

/** The difference of two ranges: by their windows, or by their values if neither ever changed. */
export function differenceOfRanges(
  metric: Metric,
  one: WindowedSubject,
  other: WindowedSubject,
  options: RangeOptions,
): Difference {
  const found = testRanges(metric, one, other, options);
  if (found.verdict !== "undecided") return found;
  const curves = [one, other].flatMap(({ whole }) => curvesOf(metric, whole));
  const isEnough = curves.every(({ readings: count }) => count >= FEWEST_READINGS * WINDOWS);
  const steady = isEnough ? findSteadyPart(one, other, found, options) : undefined;
  if (steady === undefined) return found;
  const { why: _, needs: __, ...rest } = found;
  return { ...rest, verdict: "likely", steady };
}

interface RangeOptions {
  readonly paired: boolean;
  readonly level: number;
  readonly resolution?: number;
}

/** A likely difference is at least this share of the larger value. */
const LIKELY_SHARE = 0.1;
/** Minimum number of agreeing windows at the start or end of the range: fewer may be a single event. */
const FEWEST_STEADY = 2;
/** In these windows, the differences vary by at most this share of their mean. */
const STEADY_SHARE = 0.25;

/**
 * A change inside the range correlates the readings so strongly that a test decides nothing, although the two differ clearly from
 * then on. Returns the longest run of windows at either end of the range with a steady difference.
 */
function findSteadyPart(
  one: WindowedSubject,
  other: WindowedSubject,
  { amount = 0 }: Difference,
  { paired }: RangeOptions,
): SteadyPart | undefined {
  const [first, second] = [one, other].map(({ value }) => ("value" in value ? value.value : 0));
  const size = Math.max(Math.abs(first ?? 0), Math.abs(second ?? 0));
  if (Math.abs(amount) < LIKELY_SHARE * size) return undefined;
  const differences = one.windows.map((before, at): number | undefined => {
    const after = other.windows[at];
    return after !== undefined && "value" in before && "value" in after
      ? after.value - before.value
      : undefined;
  });
  const count = differences.length;
  const stepMs = (one.whole.endMs - one.whole.startMs) / count;
  for (let length = count; length >= FEWEST_STEADY; length -= 1)
    for (const start of [count - length, 0]) {
      const part = differences.slice(start, start + length);
      const known = part.filter((value) => value !== undefined);
      if (known.length < part.length || !isSteady(known, amount)) continue;
      const mean = known.reduce((sum, value) => sum + value, 0) / known.length;
      const changed = paired ? one : findChanged(one, other, mean);
      if (changed === undefined) return undefined;
      const fromMs = changed.whole.startMs + start * stepMs;
      return { fromMs, toMs: fromMs + length * stepMs, amount: mean };
    }
  return undefined;
}

/**
 * Of two different times, the one that changed while the other kept its level over all its windows. Undefined if both moved: then
 * windows of the same number have nothing in common.
 */
function findChanged(
  one: WindowedSubject,
  other: WindowedSubject,
  amount: number,
): WindowedSubject | undefined {
  const isLevel = ({ windows }: WindowedSubject): boolean => {
    const values = windows.flatMap((window) => ("value" in window ? [window.value] : []));
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    return values.every((value) => Math.abs(value - mean) <= STEADY_SHARE * Math.abs(amount));
  };
  if (isLevel(one)) return other;
  return isLevel(other) ? one : undefined;
}

/** True if all differences have similar size, the same sign, and are not smaller than over the whole range. */
function isSteady(differences: readonly number[], amount: number): boolean {
  const mean = differences.reduce((sum, value) => sum + value, 0) / differences.length;
  return (
    Math.sign(mean) === Math.sign(amount) &&
    Math.abs(mean) >= 0.999 * Math.abs(amount) &&
    differences.every((value) => Math.abs(value - mean) <= STEADY_SHARE * Math.abs(mean))
  );
}

function testRanges(
  metric: Metric,
  one: WindowedSubject,
  other: WindowedSubject,
  options: RangeOptions,
): Difference {
  const { resolution, paired } = options;
  if ("why" in one.value) return { verdict: "not-compared", as: metric.as, why: one.value.why };
  if ("why" in other.value) return { verdict: "not-compared", as: metric.as, why: other.value.why };
  const curves = [one, other].map(({ whole }) => curvesOf(metric, whole));
  if (curves.flat().length === 0) throw new Error(`BUG: ${metric.key} is made of no readings`);
  const fewest = Math.min(...curves.flat().map((curve) => curve.readings));
  const apart = Math.max(...curves.flat().map(secondsApart));
  const constant = curves.flat().every(({ values }) => isConstant(values, metric));
  const byConstants = differenceOfConstants(metric, one.value.value, other.value.value, resolution);
  const means = withoutVerdict(byConstants);
  const needed = (count: number): DecisionNeeds => ({
    more: count,
    of: "readings",
    ...(apart > 0 ? { seconds: count * apart } : {}),
  });
  const few = (enough: number): Difference => {
    const needs = needed(enough - fewest);
    return {
      ...means,
      verdict: "undecided",
      needs,
      why: `${fewest === 1 ? "one reading is" : `${fewest} readings are`} too few: at least ${formatNeeds(needs)}`,
    };
  };
  if (constant) return fewest < FEWEST_READINGS ? few(FEWEST_READINGS) : byConstants;
  if (fewest < FEWEST_READINGS * WINDOWS) return few(FEWEST_READINGS * WINDOWS);
  const unsure = spreadOf(metric, curves.flat(), one.value.value);
  if (Math.abs(byConstants.amount ?? 0) > TIMES_THE_SPREAD * unsure)
    return { ...byConstants, ...between(byConstants, unsure, one.value.value) };
  const [points, time] = independence(curves, paired);
  if (points < WINDOWS * TIMES_PER_WINDOW * time) {
    const share = (WINDOWS * TIMES_PER_WINDOW * time) / points;
    const needs = needed(Math.ceil(fewest * (share - 1)));
    return {
      ...means,
      verdict: "undecided",
      needs,
      why: `readings follow each other closely, and ${fewest} carry as much information as ${Math.max(1, Math.floor(points / time))} independent ones: about ${formatNeeds(needs)}`,
    };
  }
  const known = knownWindows(one.windows, other.windows, paired);
  if (Math.min(...known.map(({ length }) => length)) < FEWEST_WINDOWS)
    return {
      ...means,
      verdict: "undecided",
      why: "too much of the range has no reading of it: compare a range without the gap",
    };
  const tested = differenceOf(metric, known[0], known[1], options);
  // A window is only a part of the range, so an amount of energy is taken from the whole.
  const found = tested.as === "ratio" ? { ...tested, ...means, ratio: tested.ratio ?? 0 } : tested;
  if (found.verdict !== "undecided") return found;
  const { needs: _, ...rest } = found;
  return { ...rest, ...moreReadings(found, fewest, needed) };
}

/** The readings from which a metric is calculated. */
function curvesOf({ sampled, needs }: Metric, whole: RunSeries): readonly WeightedReadings[] {
  const { startMs, endMs, samplingMs, workRate } = whole;
  const power = { column: "power", across: "sum" } as const;
  const columns = sampled === undefined ? (needs.includes("power") ? [power] : []) : [sampled];
  const rate =
    needs.includes("work") && workRate !== undefined
      ? weighReadings(workRate.timeMs, workRate.values, startMs, endMs, samplingMs)
      : undefined;
  return [
    ...columns.flatMap((column) => {
      const found = readings(whole, column, startMs, endMs);
      return "why" in found ? [] : [found];
    }),
    ...(rate === undefined || workRate === undefined
      ? []
      : [{ ...rate, readings: Math.min(rate.readings, workRate.readings) }]),
  ];
}

/** The time between samples; 0 for a single one. */
const secondsApart = ({ timeMs, values, readings: count }: WeightedReadings): number =>
  ((usualDistance(timeMs) / 1_000) * values.length) / count;

/** The range from the lowest to the highest reading, over both subjects, in the metric's unit. */
function spreadOf({ sampled }: Metric, curves: readonly WeightedReadings[], value: number): number {
  const spreads = curves.map(({ values }) => {
    const [low, high] = extremes(values);
    const size = Math.max(Math.abs(low), Math.abs(high));
    // A derived metric has the same relative variation as its readings.
    return sampled === undefined ? ((high - low) / (size || 1)) * Math.abs(value) : high - low;
  });
  return Math.hypot(...spreads);
}

function between(
  { as, amount = 0, ratio = 0 }: Difference,
  unsure: number,
  value: number,
): Pick<Difference, "low" | "high"> {
  const [middle, half] = as === "ratio" ? [ratio, unsure / Math.abs(value)] : [amount, unsure];
  return { low: middle - half, high: middle + half };
}

const extremes = (values: Float64Array): readonly [number, number] => [
  values.reduce((a, b) => Math.min(a, b)),
  values.reduce((a, b) => Math.max(a, b)),
];

function isConstant(values: Float64Array, { sampled, resolution = 0 }: Metric): boolean {
  const [low, high] = extremes(values);
  const size = Math.max(Math.abs(low), Math.abs(high));
  return high - low <= Math.max(RATE_ROUNDING * size, sampled === undefined ? 0 : resolution);
}

/** The number of points of the shortest curve, and its correlation time in points. */
function independence(
  curves: readonly (readonly WeightedReadings[])[],
  paired: boolean,
): readonly [points: number, time: number] {
  const points = Math.min(...curves.flat().map(({ values }) => values.length));
  const [one = [], other = []] = curves;
  const judged = one.flatMap((curve, at): readonly Float64Array[] => {
    const beside = other[at];
    if (beside === undefined) return [curve.values];
    const together = paired ? differencesAtSameTimes(curve, beside) : undefined;
    return together === undefined ? [curve.values, beside.values] : [together];
  });
  return [points, Math.max(...judged.map(autocorrelationTime))];
}

/** Influences on both at once cancel. Undefined if the two were mostly read at different times. */
function differencesAtSameTimes(
  one: WeightedReadings,
  other: WeightedReadings,
): Float64Array | undefined {
  const first = new Map(Array.from(one.timeMs, (at, row) => [at, one.values[row] ?? 0]));
  const found: number[] = [];
  other.timeMs.forEach((at, row) => {
    const before = first.get(at);
    if (before !== undefined) found.push((other.values[row] ?? 0) - before);
  });
  const fewest = Math.min(one.values.length, other.values.length);
  return found.length < 0.8 * fewest ? undefined : Float64Array.from(found);
}

/** The windows that have a value; for pairs, those that have both. */
function knownWindows(
  one: readonly FigureValue[],
  other: readonly FigureValue[],
  paired: boolean,
): readonly [readonly FigureValue[], readonly FigureValue[]] {
  const isKnown = (value: FigureValue | undefined): boolean =>
    value !== undefined && "value" in value;
  if (!paired) return [one.filter(isKnown), other.filter(isKnown)];
  const both = one.map((value, at) => isKnown(value) && isKnown(other[at]));
  return [one.filter((_, at) => both[at]), other.filter((_, at) => both[at])];
}

/** An interval narrows with the square root of the number of readings. */
function moreReadings(
  { as, amount = 0, ratio = 0, low = 0, high = 0 }: Difference,
  fewest: number,
  needed: (count: number) => DecisionNeeds,
): Pick<Difference, "why" | "needs"> {
  const share = ((high - low) / 2 / Math.abs(as === "ratio" ? ratio : amount)) ** 2;
  if (!(share < MOST_TIMES_MORE)) return { why: tooSmall };
  const needs = needed(Math.max(1, Math.ceil(fewest * (share - 1))));
  return { needs, why: `for a difference of this size about ${formatNeeds(needs)}` };
}

function withoutVerdict({
  as,
  amount,
  ratio,
}: Difference): Pick<Difference, "as" | "amount" | "ratio"> {
  return {
    as,
    ...(amount === undefined ? {} : { amount }),
    ...(ratio === undefined ? {} : { ratio }),
  };
}

/**
 * The integrated autocorrelation time in readings: 1 if they are independent, more if they are correlated. Summed in pairs until
 * a pair is no longer positive (Geyer 1992).
 */
function autocorrelationTime(values: Float64Array): number {
  const known = values.filter((value) => !Number.isNaN(value));
  const count = known.length;
  const mean = known.reduce((sum, value) => sum + value, 0) / count;
  const centred = known.map((value) => value - mean);
  const covariance = (lag: number): number => {
    let sum = 0;
    for (let at = lag; at < count; at += 1) sum += (centred[at] ?? 0) * (centred[at - lag] ?? 0);
    return sum / count;
  };
  const variance = covariance(0);
  if (!(variance > 0)) return 1;
  let total = -1;
  for (let lag = 0; lag + 1 < count; lag += 2) {
    const pair = (covariance(lag) + covariance(lag + 1)) / variance;
    if (pair <= 0) break;
    total += 2 * pair;
  }
  return Math.max(1, total);
}
