/**
 * Parses a native histogram of an engine's API: populated buckets with their bounds, without schema and bucket indexes.
 * Finds the schema with exactly these bounds; otherwise the bounds are custom ones.
 */
import {
  type Bucket,
  type Buckets,
  boundOf,
  customSchema,
  type Histogram,
  maxSchema,
  minSchema,
  noBounds,
  noBuckets,
} from "../../model/histogram/histogram.ts";

export interface ShownHistogram {
  readonly count: number;
  readonly sum: number;
  readonly buckets: readonly Bucket[];
}

export function fromShown({ count, sum, buckets }: ShownHistogram): Histogram {
  const totals = { resetHint: "unknown", count, sum } as const;
  const zero = buckets.find(({ lower, upper }) => lower === -upper);
  const zeroThreshold = zero?.upper ?? 0;
  const others = buckets.filter((bucket) => bucket !== zero);
  const positive = others.filter(({ upper }) => upper > 0);
  // In ascending order of their distance to zero, like the bucket indexes.
  const negative = others
    .filter(({ upper }) => upper <= 0)
    .map(({ lower, upper, count: own }) => ({ lower: -upper, upper: -lower, count: own }))
    .reverse();
  for (let schema = maxSchema; schema >= minSchema; schema--) {
    const above = numbered(positive, schema, zeroThreshold);
    const below = above && numbered(negative, schema, zeroThreshold);
    if (above === undefined || below === undefined) continue;
    return {
      ...totals,
      schema,
      zeroThreshold,
      zeroCount: zero?.count ?? 0,
      positive: above,
      negative: below,
      bounds: noBounds,
    };
  }
  return { ...totals, ...custom(buckets) };
}

/** Returns undefined if a bucket does not belong to this schema. */
function numbered(
  buckets: readonly Bucket[],
  schema: number,
  zeroThreshold: number,
): Buckets | undefined {
  const indexes = new Int32Array(buckets.length);
  for (const [at, { lower, upper }] of buckets.entries()) {
    const index =
      upper === Infinity ? 1024 * 2 ** schema + 1 : Math.round(Math.log2(upper) * 2 ** schema);
    const own = boundOf(index - 1, schema, noBounds);
    // A bucket that overlaps the zero bucket begins at the end of the zero bucket.
    const begins = own === lower || (lower === zeroThreshold && own < lower);
    if (!begins || boundOf(index, schema, noBounds) !== upper) return undefined;
    indexes[at] = index;
  }
  return { indexes, counts: Float64Array.from(buckets, ({ count }) => count) };
}

function custom(buckets: readonly Bucket[]) {
  const edges = new Set(buckets.flatMap(({ lower, upper }) => [lower, upper]));
  const bounds = Float64Array.from([...edges].filter(Number.isFinite)).sort();
  const indexOf = ({ upper }: Bucket): number =>
    upper === Infinity ? bounds.length : bounds.indexOf(upper);
  return {
    schema: customSchema,
    zeroThreshold: 0,
    zeroCount: 0,
    positive: {
      indexes: Int32Array.from(buckets, indexOf),
      counts: Float64Array.from(buckets, ({ count }) => count),
    },
    negative: noBuckets,
    bounds,
  };
}
