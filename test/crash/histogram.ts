// A native histogram that can be computed again from two numbers, and how the API shows it.

import { type Histogram, noBounds, noBuckets } from "../../src/model/histogram/histogram.ts";

/** Every field follows from the numbers, so that none can stand in for another. */
export const histogramFor = (sum: number, number: number): Histogram => ({
  resetHint: "unknown",
  schema: 0,
  zeroThreshold: 0.001,
  zeroCount: number,
  count: 3 * number + 1,
  sum,
  positive: {
    indexes: Int32Array.of(1, 2, 4 + (number % 3)),
    counts: Float64Array.of(number, number, 1),
  },
  negative: noBuckets,
  bounds: noBounds,
});

/** A sample of a response, with its numbers as JavaScript prints them. */
export function sampleText(value: string | ShownHistogram): string {
  if (typeof value === "string") return String(Number(value));
  const { count, sum, buckets } = value;
  return JSON.stringify({ count, sum: String(Number(sum)), buckets });
}

/** A native histogram in a response of the API. */
export interface ShownHistogram {
  readonly count: string;
  readonly sum: string;
  readonly buckets: readonly (readonly [number, string, string, string])[];
}

/** The text of such a histogram; for a number above 0. */
export function histogramText(sum: number, number: number): string {
  const upper = 2 ** (4 + (number % 3));
  return JSON.stringify({
    count: String(3 * number + 1),
    sum: String(sum),
    buckets: [
      [3, "-0.001", "0.001", String(number)],
      [0, "1", "2", String(number)],
      [0, "2", "4", String(number)],
      [0, String(upper / 2), String(upper), "1"],
    ],
  });
}
