/**
 * How sure a mean of repeats and a difference of two means are. The repeat is the unit: readings within a run follow each
 * other and are never counted as news. Pure; randomness comes in as an argument.
 */
import { criticalT, twoSided } from "./student.ts";

export interface Interval {
  readonly low: number;
  readonly high: number;
}

export interface DifferenceTest extends Interval {
  readonly difference: number;
  /** How often chance alone would show a difference as large. */
  readonly p: number;
}

/** A verdict needs this many repeats of each: with two, a spread is a guess. */
export const FEWEST_REPEATS = 3;
const DRAWS = 2_000;
const NORMAL_95 = 1.959963984540054;

export const meanOfAll = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

function varianceOf(values: readonly number[]): number {
  const mean = meanOfAll(values);
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1);
}

/**
 * The mean's 95 % interval by the bootstrap, widened about the mean as few repeats need it: by t over the normal's
 * quantile, and by the n / (n - 1) a resampled variance lacks. Undefined with fewer than two.
 */
export function meanInterval(
  values: readonly number[],
  random: () => number,
): Interval | undefined {
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
 * Welch's test of `other` less `one`. Degrees of freedom are Welch's own of 1947 where there are as many of each, which is
 * right at three repeats where Satterthwaite's is too careful, and Satterthwaite's where not.
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

/** Of pairs taken at the same time, where what moves both cancels. */
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

/** More would take longer than anybody repeats. */
const MOST_REPEATS = 1_000;

/**
 * How many repeats of each make the interval narrower than the difference, if neither it nor the spread changes.
 * Undefined beyond what anybody would record.
 */
export function repeatsNeeded(
  difference: number,
  half: number,
  repeats: number,
  level = 0.95,
): number | undefined {
  const error = (half / criticalT(level, 2 * repeats - 2)) * Math.sqrt(repeats);
  // Student's t is never below the normal's quantile: fewer than these cannot do.
  const least = Math.ceil(((NORMAL_95 * error) / difference) ** 2);
  for (let count = Math.max(repeats + 1, least); count <= MOST_REPEATS; count += 1)
    if ((criticalT(level, 2 * count - 2) * error) / Math.sqrt(count) < Math.abs(difference))
      return count;
  return undefined;
}

function tested(difference: number, error: number, freedom: number, level: number): DifferenceTest {
  // Repeats that are all alike, as counted work is: nothing is left to chance.
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
