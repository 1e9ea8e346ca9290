/** Quantiles by selection: only the one or two relevant ranks are determined, without sorting. */

let scratch = new Float64Array(64);

/** The q-quantile of values[from..to), which are not modified; NaNs count as the smallest. */
export function quantileOf(q: number, values: Float64Array, from: number, to: number): number {
  const count = to - from;
  if (count <= 0 || Number.isNaN(q)) return Number.NaN;
  if (q < 0) return -Infinity;
  if (q > 1) return Infinity;
  if (scratch.length < count) scratch = new Float64Array(2 * count);
  let size = 0;
  for (let index = from; index < to; index++) {
    const value = values[index] ?? 0;
    if (!Number.isNaN(value)) scratch[size++] = value;
  }
  const nans = count - size;
  const rank = q * (count - 1);
  const lower = Math.floor(rank);
  const upper = Math.min(count - 1, lower + 1);
  const weight = rank - lower;
  const low = lower < nans ? Number.NaN : select(scratch, size, lower - nans);
  const high =
    upper < nans
      ? Number.NaN
      : upper === lower
        ? low
        : leastAfter(scratch, size, upper - nans, lower >= nans);
  return low * (1 - weight) + high * weight;
}

/** The value of a rank once the previous rank is in place: the least value after it. */
function leastAfter(values: Float64Array, size: number, rank: number, placed: boolean): number {
  if (!placed) return select(values, size, rank);
  let least = values[rank] ?? 0;
  for (let index = rank + 1; index < size; index++) least = Math.min(least, values[index] ?? 0);
  return least;
}

/** Hoare's selection: afterwards no value before the rank is greater, and none after it smaller. */
function select(values: Float64Array, size: number, rank: number): number {
  let low = 0;
  let high = size - 1;
  while (low < high) {
    const pivot = values[(low + high) >>> 1] ?? 0;
    let left = low;
    let right = high;
    while (left <= right) {
      while ((values[left] ?? 0) < pivot) left++;
      while ((values[right] ?? 0) > pivot) right--;
      if (left > right) break;
      const swapped = values[left] ?? 0;
      values[left++] = values[right] ?? 0;
      values[right--] = swapped;
    }
    if (rank <= right) high = right;
    else if (rank >= left) low = left;
    else break;
  }
  return values[rank] ?? 0;
}
