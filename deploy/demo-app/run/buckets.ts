// The bounds of every request histogram, the same for the gateway and for the load generator, so that their percentiles can
// be laid beside each other; and percentiles read from such a histogram as PromQL's histogram_quantile reads them.

export const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

/** Cumulative counts by upper bound in rising order, the last bound +Inf. */
export type Bucket = readonly [upperSeconds: number, count: number];

/** Which bucket holds the quantile: its index; undefined when nothing was counted. */
export function quantileBucket(buckets: readonly Bucket[], quantile: number): number | undefined {
  const total = buckets.at(-1)?.[1] ?? 0;
  if (total === 0) return undefined;
  return buckets.findIndex(([, count]) => count >= quantile * total);
}

/** Linear within its bucket; the highest finite bound where it is above all of them. */
export function quantileOf(buckets: readonly Bucket[], quantile: number): number | undefined {
  const index = quantileBucket(buckets, quantile);
  if (index === undefined) return undefined;
  const [upper, count] = buckets[index] ?? [Infinity, 0];
  const [lower, below] = buckets[index - 1] ?? [0, 0];
  if (upper === Infinity) return lower;
  const rank = quantile * (buckets.at(-1)?.[1] ?? 0);
  return count === below ? upper : lower + (upper - lower) * ((rank - below) / (count - below));
}
