/** Formats native histograms of the query API in PromQL's notation, for page and terminal. */

/** The code of its inclusive bounds, the two bounds, and the count. */
export type ApiBucket = readonly [bounds: number, lower: string, upper: string, count: string];

export interface ApiHistogram {
  readonly count: string;
  readonly sum: string;
  readonly buckets?: readonly ApiBucket[];
}

/** Brackets by the API's code for inclusive bounds. */
const edges = ["(]", "[)", "()", "[]"] as const;

function bucketText([bounds, lower, upper]: ApiBucket): string {
  const [open, close] = edges[bounds] ?? "()";
  return `${open}${lower},${upper}${close}`;
}

/** `{count:3, sum:4.5, (1,2]:3}`. */
export function histogramText({ count, sum, buckets = [] }: ApiHistogram): string {
  const parts = buckets.map((bucket) => `, ${bucketText(bucket)}:${bucket[3]}`);
  return `{count:${count}, sum:${sum}${parts.join("")}}`;
}
