/**
 * Confidence intervals of a mean over repeats and of a difference of two means. The repeat is the unit: readings within a run are
 * correlated and do not count as independent. Pure; randomness is an argument.
 */
import { criticalT, twoSided } from "./student.ts";

export interface ConfidenceInterval {
  readonly low: number;
  readonly high: number;
}

export interface DifferenceTest extends ConfidenceInterval {
  readonly difference: number;
  /** The probability of a difference at least as large by chance. */
  readonly p: number;
}

/** A verdict needs this many repeats per subject: with two, a spread is a guess. */
export const FEWEST_REPEATS = 3;
const DRAWS = 2_000;
const NORMAL_95 = 1.959963984540054;

export const meanOfAll = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

export function varianceOf(values: readonly number[]): number {
  const mean = meanOfAll(values);
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1);
}

/**
 * The mean's 95 % interval by the bootstrap, widened about the mean for few repeats: by t over the normal's quantile, and by n /
 * (n - 1) to correct the variance of resampling. Undefined with fewer than two.
 */
export function meanInterval(
  values: readonly number[],
  random: () => number,
): ConfidenceInterval | undefined {
  const count = values.length;
  if (count < 2) return undefined;
  const mean = meanOfAll(values);
  const drawn = new Float64Array(DRAWS);
  for (let draw = 0; draw < DRAWS; draw += 1) {
    let sum = 0;
    for (let taken = 0; taken < count; taken += 1)
      sum += values[Math.floor(random() * count)] ?? mean;
    drawn[draw] = sum / count;
  }
  drawn.sort();
  const wider = (criticalT(0.95, count - 1) / NORMAL_95) * Math.sqrt(count / (count - 1));
  const at = (share: number): number => drawn[Math.round(share * (DRAWS - 1))] ?? mean;
  return { low: mean + wider * (at(0.025) - mean), high: mean + wider * (at(0.975) - mean) };
}

/**
 * Welch's t-test of `other` less `one`. With equal counts the degrees of freedom are those of Welch (1947), which are right for
 * three repeats where Satterthwaite's are too conservative; with unequal counts they are Satterthwaite's.
 */
export function compareMeans(
  one: readonly number[],
  other: readonly number[],
  level = 0.95,
): DifferenceTest {
  const [m, n] = [one.length, other.length];
  const [a, b] = [varianceOf(one) / m, varianceOf(other) / n];
  const freedom =
    m === n
      ? (a + b) ** 2 / (a ** 2 / (m + 1) + b ** 2 / (n + 1)) - 2
      : (a + b) ** 2 / (a ** 2 / (m - 1) + b ** 2 / (n - 1));
  return tested(meanOfAll(other) - meanOfAll(one), Math.sqrt(a + b), freedom, level);
}

/** For pairs measured at the same time, where influences on both cancel. */
export function comparePairs(
  one: readonly number[],
  other: readonly number[],
  level = 0.95,
): DifferenceTest {
  const differences = one.map((value, at) => (other[at] ?? Number.NaN) - value);
  const count = differences.length;
  return tested(
    meanOfAll(differences),
    Math.sqrt(varianceOf(differences) / count),
    count - 1,
    level,
  );
}

/** More repeats would take impractically long. */
const MOST_REPEATS = 1_000;

/** The difference is found in four of five cases. */
const POWER = 0.8;

/** Cached by level and repeats: a comparison needs the same values for every metric. */
const reaches = new Map<string, number>();

/** The number of standard errors of a difference that a test at `level` finds in `POWER` of all cases. */
function reachOf(level: number, repeats: number): number {
  const key = `${level} ${repeats}`;
  const freedom = 2 * repeats - 2;
  const reach = reaches.get(key) ?? criticalT(level, freedom) + criticalT(2 * POWER - 1, freedom);
  reaches.set(key, reach);
  return reach;
}

/** The smallest difference that `repeats` of each detect, if a repeat varies by `spread` (a standard deviation). */
export const detectableDifference = (spread: number, repeats: number, level = 0.95): number =>
  reachOf(level, repeats) * spread * Math.sqrt(2 / repeats);

/**
 * The number of repeats of each that detect a difference of that size, if a repeat varies by `spread`: two-sided at `level`, with
 * 80 % power. Undefined if impractically many.
 */
export function repeatsToDetect(
  difference: number,
  spread: number,
  level = 0.95,
  fewest = FEWEST_REPEATS,
): number | undefined {
  const isFound = (count: number): boolean =>
    detectableDifference(spread, count, level) <= Math.abs(difference);
  if (!isFound(MOST_REPEATS)) return undefined;
  let [few, enough] = [fewest - 1, MOST_REPEATS];
  while (enough - few > 1) {
    const middle = Math.floor((few + enough) / 2);
    if (isFound(middle)) enough = middle;
    else few = middle;
  }
  return enough;
}

function tested(difference: number, error: number, freedom: number, level: number): DifferenceTest {
  // Identical repeats, as of counted work, have no random error.
  if (!(error > 0))
    return { difference, low: difference, high: difference, p: difference === 0 ? 1 : 0 };
  const half = criticalT(level, freedom) * error;
  return {
    difference,
    low: difference - half,
    high: difference + half,
    p: twoSided(difference / error, freedom),
  };
}
