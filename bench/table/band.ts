/**
 * Calculates a ratio from rounds, and from the ratios of several runs the band that the next run must be within. Pure; the rule
 * is printed on the page, so that a band is never wider than the observed variation requires.
 */
import type { FigureKind, Round } from "./measurement.ts";

export interface Band {
  readonly low: number;
  readonly high: number;
}

/** The minimum width as a factor: how much a value of this kind varies between two machines, however steady the runs were. */
export const leastFactor: Readonly<Record<FigureKind, number>> = {
  bytes: 1.05,
  memory: 1.2,
  processor: 1.3,
  time: 1.4,
};
/** The observed runs are few, so the next may be this much further out than the farthest of them; in logarithms. */
const beyondRuns = 1.5;
/** A median of rounds varies less than a single round. */
const shareOfRounds = 0.5;

export function middle(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = Math.floor(sorted.length / 2);
  const upper = sorted[half] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? Number.NaN) + upper) / 2;
}

/** The median of the rounds' ratios, never the ratio of medians: a disturbance affects both halves of a round. */
export const ratioOf = (rounds: readonly Round[]): number =>
  middle(rounds.map(([ours, theirs]) => ours / theirs));

/** @param runs the rounds of each stored run */
export function bandOf(kind: FigureKind, runs: readonly (readonly Round[])[]): Band {
  const ratios = runs.map(ratioOf);
  const centre = Math.log(middle(ratios));
  const farthest = Math.max(...ratios.map((ratio) => Math.abs(Math.log(ratio) - centre)));
  const spread = Math.max(
    ...runs.map((rounds) => {
      const own = Math.log(ratioOf(rounds));
      return Math.max(...rounds.map(([ours, theirs]) => Math.abs(Math.log(ours / theirs) - own)));
    }),
  );
  const reach = Math.max(
    Math.log(leastFactor[kind]),
    beyondRuns * farthest,
    farthest + shareOfRounds * spread,
  );
  return { low: round3(Math.exp(centre - reach)), high: round3(Math.exp(centre + reach)) };
}

export const isInside = (ratio: number, { low, high }: Band): boolean =>
  round3(ratio) >= low && round3(ratio) <= high;

/** Three significant digits, as on the page. */
export const round3 = (value: number): number => Number(value.toPrecision(3));
