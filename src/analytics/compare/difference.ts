/** A metric of two subjects: how far apart, how sure, and whether that is a real difference or noise. */
import type { Value } from "./figures.ts";
import { compareMeans, comparePairs, FEWEST_REPEATS, meanOfAll } from "./interval.ts";
import type { Metric } from "./metrics.ts";

export interface Difference {
  /** `untold` where no verdict can be given: `why` says so. */
  readonly verdict: "real" | "noise" | "same" | "untold";
  readonly why?: string;
  /** Of the means, in the metric's unit. */
  readonly amount?: number;
  /** The same over the first one's; only for metrics that are told as a ratio, and for power. */
  readonly ratio?: number;
  /** 95 % interval of the ratio less 1, or of the amount: whichever `as` says. */
  readonly as: Metric["as"];
  readonly low?: number;
  readonly high?: number;
  readonly p?: number;
}

/** Closer than this is arithmetic, not measurement. */
const ROUNDING = 1e-9;

export function differenceOf(
  metric: Metric,
  one: readonly Value[],
  other: readonly Value[],
  options: { readonly paired: boolean; readonly level: number },
): Difference {
  const { as } = metric;
  const [first, second] = [numbersOf(one), numbersOf(other)];
  if ("why" in first) return { verdict: "untold", as, why: first.why };
  if ("why" in second) return { verdict: "untold", as, why: second.why };
  const [before, after] = [meanOfAll(first.values), meanOfAll(second.values)];
  const amount = after - before;
  const told = {
    as,
    amount,
    ...(before > 0 && (as === "ratio" || metric.unit === "watts")
      ? { ratio: after / before - 1 }
      : {}),
  };
  const fewest = Math.min(first.values.length, second.values.length);
  if (fewest < FEWEST_REPEATS)
    return {
      ...told,
      verdict: "untold",
      why: `${fewest === 1 ? "one repeat" : `${fewest} repeats`} cannot tell a difference from noise: ${FEWEST_REPEATS} are needed`,
    };
  if (Math.abs(amount) <= ROUNDING * Math.max(Math.abs(before), Math.abs(after)))
    return { ...told, amount: 0, verdict: "same", low: 0, high: 0, p: 1 };
  const all = [...first.values, ...second.values];
  if (as === "ratio" && all.some((value) => value <= 0))
    return { ...told, verdict: "untold", why: "it was 0 in a repeat, and 0 has no ratio" };
  const scaled = (values: readonly number[]): readonly number[] =>
    as === "ratio" ? values.map(Math.log) : values;
  const test = options.paired ? comparePairs : compareMeans;
  const { difference, low, high, p } = test(
    scaled(first.values),
    scaled(second.values),
    options.level,
  );
  const back = (value: number): number => (as === "ratio" ? Math.expm1(value) : value);
  return {
    ...told,
    ...(as === "ratio" ? { ratio: back(difference) } : {}),
    verdict: p < 1 - options.level ? "real" : "noise",
    low: back(low),
    high: back(high),
    p,
  };
}

/** All of them, or the first reason why one is not there: a mean of those that happened to work is of something else. */
export function numbersOf(
  values: readonly Value[],
): { readonly values: readonly number[] } | { readonly why: string } {
  const found: number[] = [];
  for (const value of values) {
    if ("why" in value) return value;
    found.push(value.value);
  }
  return found.length === 0 ? { why: "no run" } : { values: found };
}
