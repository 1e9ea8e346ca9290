/** Robust statistics over cells. NaN is a missing number and is skipped. */
import { sigmaPerMad } from "../../lake/analyses/anomaly/statistics/spread.ts";

/** Scratch space for quantiles: one explanation processes millions of numbers and keeps none. */
let scratch = new Float64Array(4_096);
/** After this many rounds the order of the values is unfavourable, and sorting is faster. */
const mostRounds = 64;

/** Moves the value of rank `place` to its position, smaller values before it, larger ones after it (Hoare's selection). */
function selectPlace(values: Float64Array, place: number): void {
  let [from, to] = [0, values.length - 1];
  for (let round = 0; from < to; round++) {
    if (round === mostRounds) {
      values.subarray(from, to + 1).sort();
      return;
    }
    const [first, middle, last] = [
      values[from] as number,
      values[(from + to) >> 1] as number,
      values[to] as number,
    ];
    const pivot = Math.max(Math.min(first, middle), Math.min(Math.max(first, middle), last));
    let [left, right] = [from, to];
    while (left <= right) {
      while ((values[left] as number) < pivot) left++;
      while ((values[right] as number) > pivot) right--;
      if (left > right) break;
      const held = values[left] as number;
      values[left++] = values[right] as number;
      values[right--] = held;
    }
    if (place <= right) to = right;
    else if (place >= left) from = left;
    else return;
  }
}

/** Returns NaN without numbers. */
export function quantileOf(values: ArrayLike<number>, share: number): number {
  if (scratch.length < values.length) scratch = new Float64Array(2 * values.length);
  let count = 0;
  for (let at = 0; at < values.length; at++) {
    const value = values[at] as number;
    if (!Number.isNaN(value)) scratch[count++] = value;
  }
  if (count === 0) return Number.NaN;
  const place = share * (count - 1);
  const lowAt = Math.floor(place);
  selectPlace(scratch.subarray(0, count), lowAt);
  const low = scratch[lowAt] as number;
  if (lowAt === place) return low;
  let high = Infinity;
  for (let at = lowAt + 1; at < count; at++) high = Math.min(high, scratch[at] as number);
  return low + (high - low) * (place - lowAt);
}

export const medianOf = (values: ArrayLike<number>): number => quantileOf(values, 0.5);

export function sigmaOf(values: ArrayLike<number>, middle = medianOf(values)): number {
  const distances = new Float64Array(values.length);
  for (let at = 0; at < values.length; at++)
    distances[at] = Math.abs((values[at] as number) - middle);
  return sigmaPerMad * medianOf(distances);
}

/** Limit on the contribution of one cell, in thresholds: a single outlier is no change. */
const mostPull = 2;

/**
 * Finds where a level changed for good: the start that maximises the sum of clipped departures from there to the end, each minus
 * half the threshold (a CUSUM from the end, with clipped outliers).
 * @param departures in thresholds: 1 is just worth reporting, NaN is undecidable
 * @returns the index of the first departing cell; the length if none departs
 */
export function changePoint(departures: ArrayLike<number>, from = 0): number {
  let best = 0;
  let bestAt = departures.length;
  let sum = 0;
  for (let at = departures.length - 1; at >= from; at--) {
    const departure = departures[at] as number;
    if (Number.isNaN(departure)) continue;
    sum += Math.max(-mostPull, Math.min(mostPull, departure)) - 0.5;
    if (sum > best) {
      best = sum;
      bestAt = at;
    }
  }
  return bestAt;
}

/** Rows of a linear fit, with a separate offset for each group of rows. */
export interface FitRows {
  readonly inputCount: number;
  /** `inputCount` numbers per row. */
  readonly inputs: Float64Array;
  readonly targets: Float64Array;
  readonly groups: Int32Array;
  readonly groupCount: number;
}

export interface RobustFit {
  readonly weights: Float64Array;
  readonly offsets: Float64Array;
  /** Robust standard deviation of the residuals. */
  readonly sigma: number;
}

const rounds = 9;
const trimmedRounds = 5;
const tukeySigmas = 4.5;
const ridge = 1e-3;

/** Reweighted least squares: distant rows (a fault in some of the groups) get no weight. */
export function fitRobust(rows: FitRows, leastSigma: number): RobustFit {
  const { inputCount: size, inputs, targets, groups, groupCount } = rows;
  const count = targets.length;
  const offsets = new Float64Array(groupCount);
  const residuals = new Float64Array(count);
  const trust = new Float64Array(count).fill(1);
  let weights: Float64Array = new Float64Array(size);
  let sigma = leastSigma;
  const distances = new Float64Array(count);
  const byGroup = rowsByGroup(groups, groupCount);
  for (let round = 0; round < rounds; round++) {
    weights = solveWeighted(rows, trust);
    for (let row = 0; row < count; row++) {
      let value = targets[row] as number;
      for (let at = 0; at < size; at++)
        value -= (weights[at] as number) * (inputs[row * size + at] as number);
      residuals[row] = value;
    }
    byGroup.forEach((own, group) => {
      for (let at = 0; at < own.length; at++)
        distances[at] = residuals[own[at] as number] as number;
      offsets[group] = medianOf(distances.subarray(0, own.length)) || 0;
    });
    for (let row = 0; row < count; row++)
      distances[row] = Math.abs(
        (residuals[row] as number) - (offsets[groups[row] as number] as number),
      );
    sigma = Math.max(leastSigma, sigmaPerMad * medianOf(distances) || 0);
    // The first rounds use the better half only, because a fault in a third of the rows must not decide what is distant.
    const near = round < trimmedRounds ? quantileOf(distances, 0.55) : 0;
    for (let row = 0; row < count; row++) {
      const residual = distances[row] as number;
      const far = residual / (tukeySigmas * sigma);
      if (round < trimmedRounds) trust[row] = residual <= near ? 1 : 0;
      else trust[row] = far >= 1 ? 0 : (1 - far * far) ** 2;
    }
  }
  return { weights, offsets, sigma };
}

/** Row indexes per group. */
function rowsByGroup(groups: Int32Array, groupCount: number): readonly Int32Array[] {
  const counts = new Int32Array(groupCount);
  for (const group of groups) counts[group] = (counts[group] as number) + 1;
  const rows = Array.from(counts, (count) => new Int32Array(count));
  counts.fill(0);
  groups.forEach((group, row) => {
    const at = counts[group] as number;
    (rows[group] as Int32Array)[at] = row;
    counts[group] = at + 1;
  });
  return rows;
}

/** Least squares within the groups: each row minus the mean of its group, so that an offset is not mistaken for a weight. */
function solveWeighted(
  { inputCount: size, inputs, targets, groups, groupCount }: FitRows,
  trust: Float64Array,
): Float64Array {
  const width = size + 1;
  const means = new Float64Array(groupCount * width);
  const sums = new Float64Array(groupCount);
  for (let row = 0; row < targets.length; row++) {
    const weight = trust[row] as number;
    if (weight === 0) continue;
    const group = groups[row] as number;
    sums[group] = (sums[group] as number) + weight;
    const first = group * width;
    for (let at = 0; at < size; at++)
      means[first + at] =
        (means[first + at] as number) + weight * (inputs[row * size + at] as number);
    means[first + size] = (means[first + size] as number) + weight * (targets[row] as number);
  }
  for (let at = 0; at < means.length; at++)
    means[at] = (means[at] as number) / Math.max(1e-9, sums[Math.floor(at / width)] as number);
  const matrix = new Float64Array(size * width);
  const own = new Float64Array(width);
  for (let row = 0; row < targets.length; row++) {
    const weight = trust[row] as number;
    if (weight === 0) continue;
    const first = (groups[row] as number) * width;
    for (let at = 0; at < size; at++)
      own[at] = (inputs[row * size + at] as number) - (means[first + at] as number);
    own[size] = (targets[row] as number) - (means[first + size] as number);
    for (let left = 0; left < size; left++) {
      const scaled = weight * (own[left] as number);
      for (let right = left; right < width; right++)
        matrix[left * width + right] =
          (matrix[left * width + right] as number) + scaled * (own[right] as number);
    }
  }
  for (let left = 0; left < size; left++) {
    for (let right = 0; right < left; right++)
      matrix[left * width + right] = matrix[right * width + left] as number;
    matrix[left * width + left] = (matrix[left * width + left] as number) * (1 + ridge) + 1e-9;
  }
  return eliminate(matrix, size);
}

/** Gaussian elimination with pivoting; a direction without data gets 0. */
function eliminate(matrix: Float64Array, size: number): Float64Array {
  const width = size + 1;
  for (let column = 0; column < size; column++) {
    let pivot = column;
    for (let row = column + 1; row < size; row++)
      if (
        Math.abs(matrix[row * width + column] as number) >
        Math.abs(matrix[pivot * width + column] as number)
      )
        pivot = row;
    if (Math.abs(matrix[pivot * width + column] as number) < 1e-12) continue;
    if (pivot !== column)
      for (let at = 0; at < width; at++) {
        const held = matrix[column * width + at] as number;
        matrix[column * width + at] = matrix[pivot * width + at] as number;
        matrix[pivot * width + at] = held;
      }
    for (let row = 0; row < size; row++) {
      if (row === column) continue;
      const factor =
        (matrix[row * width + column] as number) / (matrix[column * width + column] as number);
      for (let at = column; at < width; at++)
        matrix[row * width + at] =
          (matrix[row * width + at] as number) - factor * (matrix[column * width + at] as number);
    }
  }
  return Float64Array.from({ length: size }, (_, at) => {
    const diagonal = matrix[at * width + at] as number;
    return Math.abs(diagonal) < 1e-12 ? 0 : (matrix[at * width + size] as number) / diagonal;
  });
}

/** Mean of the cells [from, to); NaN without numbers. */
export function meanOfCells(cells: Float64Array, from: number, to: number): number {
  let sum = 0;
  let count = 0;
  for (let cell = Math.max(0, from); cell < to; cell++) {
    const value = cells[cell] ?? Number.NaN;
    if (Number.isNaN(value)) continue;
    sum += value;
    count += 1;
  }
  return count === 0 ? Number.NaN : sum / count;
}
