/**
 * The contents of a rollup: per series one entry for each bucket with samples, in seven columns. A bucket of resolution
 * r is (end - r, end] with `end` a multiple of r since the epoch, like a PromQL window. Buckets have the same boundaries
 * in every block, so those of two blocks never overlap unless one replaces the other.
 */

/** Ascending; each divides the next. */
export const resolutionsMs = [300_000, 3_600_000] as const;
/** Ranges to roll up are multiples of this, which is a bucket boundary in every resolution. */
export const rollAlignMs = 3_600_000;

/**
 * The number of a rollup column is the series number times 8 plus one of these. The timestamps of `first` are those of
 * the buckets' first samples, all others have those of the last: so both are free if series share them.
 */
const component = {
  last: 0,
  first: 1,
  count: 2,
  sum: 3,
  min: 4,
  max: 5,
  /** The sum of the values right before a counter reset, between samples of the same bucket. */
  resets: 6,
} as const;
export type RollupComponent = keyof typeof component;
export const componentNames = Object.keys(component) as readonly RollupComponent[];

export const columnRef = (ref: number, name: RollupComponent): number => ref * 8 + component[name];
export const seriesRef = (column: number): number => Math.floor(column / 8);

/** The first multiple of `resolutionMs` that is not before the timestamp: the end of its bucket. */
export const bucketEnd = (timeMs: number, resolutionMs: number): number =>
  Math.ceil(timeMs / resolutionMs) * resolutionMs;
/** The start of that bucket (exclusive). */
export const bucketStart = (timeMs: number, resolutionMs: number): number =>
  bucketEnd(timeMs, resolutionMs) - resolutionMs;

/**
 * Two kinds of entries are not summaries, and have a NaN in every column: the staleness marker, if it is the newest in
 * its bucket (after the entry of the earlier samples), and this one, for a bucket with a native histogram, which is only
 * in raw samples.
 */
const rawOnlyLow = 0x00000003;
const rawOnlyHigh = 0x7ff00000;

export function putRawOnly(words: Uint32Array, i: number): void {
  words[i * 2] = rawOnlyLow;
  words[i * 2 + 1] = rawOnlyHigh;
}

export const isRawOnly = (words: Uint32Array, i: number): boolean =>
  words[i * 2] === rawOnlyLow && words[i * 2 + 1] === rawOnlyHigh;

/** As in file names and messages: 5m, 1h. */
export const formatResolution = (resolutionMs: number): string =>
  resolutionMs % 3_600_000 === 0 ? `${resolutionMs / 3_600_000}h` : `${resolutionMs / 60_000}m`;
