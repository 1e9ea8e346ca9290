/** The arithmetic of one classic histogram: cumulative counts by upper bound, with linear interpolation within a bucket. */

export interface CumulativeBucket {
  readonly bound: number;
  count: number;
}

/** The corrections that were necessary to make the counts increase with the bound. */
export interface ForcedMonotonicity {
  lowest: number;
  highest: number;
  largestDiff: number;
}

/** Smaller relative differences of counts are rounding errors. */
const tolerance = 1e-12;

/** The buckets must be sorted by bound; those with the same bound are summed. */
export function bucketQuantile(
  q: number,
  sorted: CumulativeBucket[],
): { value: number; forced?: ForcedMonotonicity | undefined } {
  if (Number.isNaN(q)) return { value: Number.NaN };
  if (q < 0) return { value: -Infinity };
  if (q > 1) return { value: Infinity };
  if (sorted.at(-1)?.bound !== Infinity) return { value: Number.NaN };
  const buckets = coalesce(sorted);
  const forced = forceMonotonic(buckets);
  const last = buckets.length - 1;
  const observations = buckets[last]?.count ?? 0;
  if (last < 1 || observations === 0) return { value: Number.NaN, forced };
  let rank = q * observations;
  // Comparisons with NaN counts are false, as in Prometheus's binary search.
  let low = 0;
  let high = last;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((buckets[middle]?.count ?? 0) >= rank) high = middle;
    else low = middle + 1;
  }
  const bound = (index: number): number => buckets[index]?.bound ?? 0;
  if (low === last) return { value: bound(last - 1), forced };
  if (low === 0 && bound(0) <= 0) return { value: bound(0), forced };
  let start = 0;
  let count = buckets[low]?.count ?? 0;
  if (low > 0) {
    start = bound(low - 1);
    const below = buckets[low - 1]?.count ?? 0;
    count -= below;
    rank -= below;
  }
  return { value: start + (bound(low) - start) * (rank / count), forced };
}

function coalesce(buckets: readonly CumulativeBucket[]): CumulativeBucket[] {
  const out: CumulativeBucket[] = [];
  for (const bucket of buckets) {
    const last = out.at(-1);
    if (last !== undefined && last.bound === bucket.bound) last.count += bucket.count;
    else out.push({ ...bucket });
  }
  return out;
}

function forceMonotonic(buckets: readonly CumulativeBucket[]): ForcedMonotonicity | undefined {
  let forced: ForcedMonotonicity | undefined;
  let before = buckets[0]?.count ?? 0;
  for (const bucket of buckets.slice(1)) {
    if (bucket.count === before) continue;
    if (almostEqual(before, bucket.count)) {
      bucket.count = before;
    } else if (bucket.count < before) {
      forced ??= { lowest: Infinity, highest: -Infinity, largestDiff: 0 };
      forced.lowest = Math.min(forced.lowest, bucket.bound);
      forced.highest = Math.max(forced.highest, bucket.bound);
      forced.largestDiff = Math.max(forced.largestDiff, before - bucket.count);
      bucket.count = before;
    } else {
      before = bucket.count;
    }
  }
  return forced;
}

function almostEqual(a: number, b: number): boolean {
  if (Number.isNaN(a) && Number.isNaN(b)) return true;
  if (a === b) return true;
  const sum = Math.abs(a) + Math.abs(b);
  const diff = Math.abs(a - b);
  if (a === 0 || b === 0 || sum < 2.2250738585072014e-308)
    return diff < tolerance * 2.2250738585072014e-308;
  return diff / Math.min(sum, Number.MAX_VALUE) < tolerance;
}

/** The share of observations between two values. */
export function bucketFraction(lower: number, upper: number, sorted: CumulativeBucket[]): number {
  if (sorted.at(-1)?.bound !== Infinity) return Number.NaN;
  const buckets = coalesce(sorted);
  const total = buckets.at(-1)?.count ?? 0;
  if (total === 0 || Number.isNaN(lower) || Number.isNaN(upper)) return Number.NaN;
  if (lower >= upper) return 0;
  const low = rankOf(lower, buckets, total);
  return (rankOf(upper, buckets, total) - low) / total;
}

/** The number of observations below the value. */
function rankOf(value: number, buckets: readonly CumulativeBucket[], total: number): number {
  let below = 0;
  let start = (buckets[0]?.bound ?? 0) <= 0 ? -Infinity : 0;
  for (const { bound, count } of buckets) {
    if (start >= value) return Math.min(below, total);
    if (bound > value) {
      const rank =
        start === -Infinity ? count : below + ((count - below) * (value - start)) / (bound - start);
      return rank > total ? total : rank;
    }
    below = count;
    start = bound;
  }
  return total;
}
