/**
 * Means, percentiles, and how sure a difference of means is. Pure: randomness comes in as an argument. A reading that is
 * not there (NaN) counts for nothing.
 */

export interface Spread {
  readonly count: number;
  readonly mean: number;
  readonly min: number;
  readonly p5: number;
  readonly p50: number;
  readonly p95: number;
  readonly max: number;
}

/** Undefined where there is no reading. */
export function spreadOf(values: Float64Array): Spread | undefined {
  const sorted = values.filter((value) => !Number.isNaN(value)).sort();
  const max = sorted.at(-1);
  if (max === undefined) return undefined;
  const mean = sorted.reduce((sum, value) => sum + value, 0) / sorted.length;
  const [p5, p50, p95] = [0.05, 0.5, 0.95].map((share) => quantile(sorted, share)) as [
    number,
    number,
    number,
  ];
  return { count: sorted.length, mean, min: sorted[0] ?? max, p5, p50, p95, max };
}

/** Between the two nearest ranks in proportion, as PromQL's quantile does. `sorted` must not be empty. */
export function quantile(sorted: Float64Array, share: number): number {
  const rank = share * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(rank)] ?? Number.NaN, sorted[Math.ceil(rank)]];
  return low + ((high ?? low) - low) * (rank - Math.floor(rank));
}

/**
 * Over how many readings one of them still tells about the next (integrated autocorrelation time): 1 where each is
 * news, more where they follow each other. Summed in pairs until a pair is no longer positive (Geyer 1992).
 */
export function autocorrelationTime(values: Float64Array): number {
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

export type Difference =
  | {
      readonly known: true;
      readonly mean: number;
      /** 95 % interval of the difference. */
      readonly low: number;
      readonly high: number;
    }
  | { readonly known: false; readonly why: string };

/** A block holds four times as many readings as tell about each other: with two, what its edges cut off would cost an eighth of the width. */
const TIMES_PER_BLOCK = 4;
const FEWEST_BLOCKS = 10;
const FEWEST_READINGS = 30;
const ROUNDS = 500;

/**
 * How much larger the mean of `other` is than that of `one`, with a 95 % interval by the moving-block bootstrap.
 * `together`: both were read at the same instants, so the same blocks are drawn of both and what moves both cancels.
 */
export function differenceOfMeans(
  one: Float64Array,
  other: Float64Array,
  together: boolean,
  random: () => number,
): Difference {
  const sides = [one, other].map((values) => ({
    sums: prefixSums(values),
    count: values.reduce((sum, value) => sum + (Number.isNaN(value) ? 0 : 1), 0),
    length: values.length,
  }));
  const [a, b] = sides as [Side, Side];
  const fewest = Math.min(a.count, b.count);
  if (fewest < FEWEST_READINGS)
    return {
      known: false,
      why: `too few readings for an interval: ${fewest} of ${FEWEST_READINGS}`,
    };
  const time = Math.max(autocorrelationTime(one), autocorrelationTime(other));
  const block = Math.max(Math.ceil(fewest ** (1 / 3)), Math.ceil(TIMES_PER_BLOCK * time));
  if (fewest / block < FEWEST_BLOCKS)
    return {
      known: false,
      why: `the readings follow each other too closely for an interval: ${fewest} of them tell as much as ${Math.max(1, Math.floor(fewest / time))} independent ones`,
    };
  const differences = new Float64Array(ROUNDS);
  for (let round = 0; round < ROUNDS; round += 1) {
    const [left, right] = together
      ? drawn([a, b], block, random)
      : [...drawn([a], block, random), ...drawn([b], block, random)];
    differences[round] = (right ?? 0) - (left ?? 0);
  }
  differences.sort();
  return {
    known: true,
    mean: meanOf(b) - meanOf(a),
    low: quantile(differences, 0.025),
    high: quantile(differences, 0.975),
  };
}

interface Side {
  readonly sums: { readonly sum: Float64Array; readonly count: Float64Array };
  readonly count: number;
  readonly length: number;
}

function prefixSums(values: Float64Array): Side["sums"] {
  const [sum, count] = [new Float64Array(values.length + 1), new Float64Array(values.length + 1)];
  values.forEach((value, at) => {
    const there = Number.isNaN(value) ? 0 : 1;
    sum[at + 1] = (sum[at] ?? 0) + (there === 1 ? value : 0);
    count[at + 1] = (count[at] ?? 0) + there;
  });
  return { sum, count };
}

const meanOf = ({ sums, length, count }: Side): number => (sums.sum[length] ?? 0) / count;

/** The mean of each side over the same blocks, drawn until there are as many instants as before. */
function drawn(sides: readonly Side[], block: number, random: () => number): number[] {
  const length = Math.min(...sides.map((side) => side.length));
  const size = Math.min(block, length);
  const totals = sides.map(() => ({ sum: 0, count: 0 }));
  for (let taken = 0; taken < length; taken += size) {
    const start = Math.floor(random() * (length - size + 1));
    sides.forEach(({ sums }, at) => {
      const total = totals[at];
      if (total === undefined) return;
      total.sum += (sums.sum[start + size] ?? 0) - (sums.sum[start] ?? 0);
      total.count += (sums.count[start + size] ?? 0) - (sums.count[start] ?? 0);
    });
  }
  return totals.map(({ sum, count }) => sum / count);
}

/** A stream of numbers from 0 to 1 that is the same for the same seed (mulberry32): a shared link shows the same interval. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export interface PerWatt {
  /** Work per second over the instants at which both were read. */
  readonly work: number;
  /** Work per joule: the same as per second and watt. */
  readonly perJoule: number;
  readonly count: number;
}

/** Undefined where no instant has both, or where nothing was drawn. */
export function workPerJoule(work: Float64Array, watts: Float64Array): PerWatt | undefined {
  let [done, drawnWatts, count] = [0, 0, 0];
  work.forEach((rate, at) => {
    const power = watts[at] ?? Number.NaN;
    if (Number.isNaN(rate) || Number.isNaN(power)) return;
    [done, drawnWatts, count] = [done + rate, drawnWatts + power, count + 1];
  });
  return count === 0 || drawnWatts <= 0
    ? undefined
    : { work: done / count, perJoule: done / drawnWatts, count };
}
