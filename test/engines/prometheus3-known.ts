// Random queries whose results differ from those of Prometheus 3 for a reason in Prometheus or in the last digits of a number.
// Everything else that differs is a defect of ours.

interface KnownResult {
  readonly seed: number;
  readonly fits: (query: string) => boolean;
  readonly reason: string;
}

const known: readonly KnownResult[] = [
  {
    seed: 5,
    fits: (query) => query === "(exp(avg_over_time(wait_seconds_bucket[47s] offset -30s))) % 1",
    reason:
      "Go and JavaScript differ in the last digit of exp(); the remainder of a division of a number of 10^8 by 1 shows it in the eighth",
  },
  {
    seed: 7741,
    fits: (query) =>
      query ===
      'histogram_quantile(1e3, histogram_quantiles(sum_over_time(odd_seconds[4m]), "q", 0.1, -1, 0.99))',
    reason:
      "buckets of 1e300 and of 2.5 add up to the count or to a number below it, depending on the order of adding them; only the latter has NaN observations",
  },
  {
    seed: 31337,
    fits: (query) =>
      query ===
      'delta((increase(odd_seconds{job=~"a|c"}[30s] @ end() offset 2m))[47s:15s] offset -(15s * 3))',
    reason:
      "over a range Prometheus selects no samples for `@ end()` in a subquery with a negative offset, and returns nothing; at one time, and for the inner query alone, it returns what gpulse does",
  },
  {
    seed: 20_261_119,
    fits: (query) => /\b(?:rate|increase|delta)\(\(?depth\b/.test(query),
    reason:
      "when Prometheus subtracts or adds histograms of different resolutions, it counts the observations of bucket (0.25, 1] in (16, 64]: the sum of both buckets and the samples themselves are the same in both",
  },
];

/** Why the result of a random query is known to differ; undefined if it is not. */
export const knownReason = (seed: number, query: string): string | undefined =>
  known.find((one) => one.seed === seed && one.fits(query))?.reason;
