/** The difference of two subjects in a metric: its size, its confidence, and whether it is real, absent, or undecided. */
import type { FigureValue } from "./figures.ts";
import {
  compareMeans,
  comparePairs,
  type DifferenceTest,
  FEWEST_REPEATS,
  meanOfAll,
  repeatsToDetect,
} from "./interval.ts";
import type { Metric } from "./metrics.ts";
import { formatLength } from "./quantity.ts";
import { criticalT } from "./student.ts";

export interface Difference {
  /**
   * `likely`: large and steady over a part of the range, but with too few independent readings for a test. `undecided`: more
   * readings or repeats may decide it; `not-compared`: they cannot. `why` gives the reason for both.
   */
  readonly verdict: "real" | "likely" | "same" | "undecided" | "not-compared";
  readonly why?: string;
  /** What would decide a difference of this size. Absent if that cannot be estimated. */
  readonly needs?: DecisionNeeds;
  /** The difference of the means, in the metric's unit. */
  readonly amount?: number;
  /** The same relative to the first mean; only for metrics compared as a ratio, and for power. */
  readonly ratio?: number;
  /** Whether the 95 % interval `low` to `high` is of the ratio less 1, or of the amount. */
  readonly as: Metric["as"];
  readonly low?: number;
  readonly high?: number;
  readonly p?: number;
  /** The part of the range in which a likely difference is steady, and its size there. */
  readonly steady?: SteadyPart;
}

export interface SteadyPart {
  readonly fromMs: number;
  readonly toMs: number;
  readonly amount: number;
}

export interface DecisionNeeds {
  /** Additional readings or repeats of each subject. */
  readonly more: number;
  readonly of: "readings" | "repeats";
  /** The duration of those readings at the rate of the existing ones. */
  readonly seconds?: number;
}

export interface DifferenceOptions {
  readonly paired: boolean;
  readonly level: number;
  /** Smaller differences count as none, in the metric's unit. */
  readonly resolution?: number;
}

/** Smaller differences are rounding errors. */
const ROUNDING = 1e-9;

export function differenceOf(
  metric: Metric,
  one: readonly FigureValue[],
  other: readonly FigureValue[],
  options: DifferenceOptions,
): Difference {
  const { level } = options;
  const [first, second] = [numbersOf(one), numbersOf(other)];
  if ("why" in first) return { verdict: "not-compared", as: metric.as, why: first.why };
  if ("why" in second) return { verdict: "not-compared", as: metric.as, why: second.why };
  const all = [...first.values, ...second.values];
  const means = meansOf(metric, first.values, second.values);
  const { as, amount } = means;
  const fewest = Math.min(first.values.length, second.values.length);
  if (fewest < FEWEST_REPEATS)
    return {
      ...means,
      verdict: "undecided",
      needs: { more: FEWEST_REPEATS - fewest, of: "repeats" },
      why: `${fewest === 1 ? "one repeat is" : `${fewest} repeats are`} too few: at least ${formatNeeds({ more: FEWEST_REPEATS - fewest, of: "repeats" })}`,
    };
  if (isRounding(amount, all)) return { ...means, amount: 0, verdict: "same", ...exactly(0), p: 1 };
  const scaled = (values: readonly number[]): readonly number[] =>
    as === "ratio" ? values.map(Math.log) : values;
  const test = options.paired ? comparePairs : compareMeans;
  const tested = test(scaled(first.values), scaled(second.values), level);
  const back = (value: number): number => (as === "ratio" ? Math.expm1(value) : value);
  const found = {
    ...means,
    ...(as === "ratio" ? { ratio: back(tested.difference) } : {}),
    low: back(tested.low),
    high: back(tested.high),
    p: tested.p,
  };
  if (tested.p < 1 - level) return { ...found, verdict: "real" };
  const widest = Math.max(Math.abs(found.low), Math.abs(found.high));
  const scale = as === "ratio" ? Math.abs(meanOfAll(first.values)) : 1;
  if (widest * scale <= (options.resolution ?? 0)) return { ...found, verdict: "same" };
  return { ...found, ...undecided(tested, fewest, level) };
}

/**
 * Compares readings that never changed by more than the metric's resolution: there is no noise to test against, so any difference
 * beyond the resolution is real.
 */
export function differenceOfConstants(
  metric: Metric,
  one: number,
  other: number,
  resolution = 0,
): Difference {
  const means = meansOf(metric, [one], [other]);
  const { as, amount, ratio = 0 } = means;
  if (isRounding(amount, [one, other]) || Math.abs(amount) <= resolution * (1 + ROUNDING))
    return { ...means, verdict: "same", ...exactly(as === "ratio" ? ratio : amount), p: 1 };
  return { ...means, verdict: "real", ...exactly(as === "ratio" ? ratio : amount), p: 0 };
}

/** `33 more readings of each (8 min) are needed`. */
export function formatNeeds({ more: count, of, seconds }: DecisionNeeds): string {
  const time = seconds === undefined ? "" : ` (${formatLength(seconds)})`;
  return `${count.toLocaleString("en-US")} more ${count === 1 ? of.slice(0, -1) : of} of each${time} ${count === 1 ? "is" : "are"} needed`;
}

function undecided(
  { difference, low, high }: DifferenceTest,
  repeats: number,
  level: number,
): Pick<Difference, "verdict" | "why" | "needs"> {
  const spread = ((high - low) / 2 / criticalT(level, 2 * repeats - 2)) * Math.sqrt(repeats / 2);
  const count = repeatsToDetect(difference, spread, level, repeats + 1);
  if (count === undefined) return { verdict: "undecided", why: tooSmall };
  const needs = { more: count - repeats, of: "repeats" } as const;
  return {
    verdict: "undecided",
    needs,
    why: `for a difference of this size about ${formatNeeds(needs)}`,
  };
}

export const tooSmall = "if there is a difference, it is smaller than the interval shows";

const exactly = (value: number): { readonly low: number; readonly high: number } => ({
  low: value,
  high: value,
});

const isRounding = (amount: number, values: readonly number[]): boolean =>
  Math.abs(amount) <= ROUNDING * Math.max(...values.map(Math.abs));

/** A value of 0 has no ratio: then the difference itself is compared. */
function meansOf(
  { as, unit }: Metric,
  one: readonly number[],
  other: readonly number[],
): Pick<Difference, "as" | "ratio"> & { readonly amount: number } {
  const [before, after] = [meanOfAll(one), meanOfAll(other)];
  const own = as === "ratio" && [...one, ...other].some((value) => value <= 0) ? "difference" : as;
  return {
    as: own,
    amount: after - before,
    ...(before > 0 && (own === "ratio" || unit === "watts") ? { ratio: after / before - 1 } : {}),
  };
}

/** All values, or the first reason why one is missing: a mean of only the successful runs would be misleading. */
export function numbersOf(
  values: readonly FigureValue[],
): { readonly values: readonly number[] } | { readonly why: string } {
  const found: number[] = [];
  for (const value of values) {
    if ("why" in value) return value;
    found.push(value.value);
  }
  return found.length === 0 ? { why: "no run" } : { values: found };
}
