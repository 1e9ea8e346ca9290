// The bounds of every request histogram, shared by the gateway and the load generator, so that their percentiles are comparable;
// and quantiles calculated like PromQL's histogram_quantile.

export const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

/** Cumulative counts by ascending upper bound, the last bound +Inf. */
export type Bucket = readonly [upperSeconds: number, count: number];

/** The index of the bucket with the quantile; undefined if nothing was counted. */
export function quantileBucket(buckets: readonly Bucket[], quantile: number): number | undefined {
  const total = buckets.at(-1)?.[1] ?? 0;
  if (total === 0) return undefined;
  return buckets.findIndex(([, count]) => count >= quantile * total);
}

/** Interpolated linearly within its bucket; the highest finite bound if it is above all of them. */
export function quantileOf(buckets: readonly Bucket[], quantile: number): number | undefined {
  const index = quantileBucket(buckets, quantile);
  if (index === undefined) return undefined;
  const [upper, count] = buckets[index] ?? [Infinity, 0];
  const [lower, below] = buckets[index - 1] ?? [0, 0];
  if (upper === Infinity) return lower;
  const rank = quantile * (buckets.at(-1)?.[1] ?? 0);
  return count === below ? upper : lower + (upper - lower) * ((rank - below) / (count - below));
}
