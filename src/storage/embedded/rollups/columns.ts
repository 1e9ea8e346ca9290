/**
 * What a rollup stores of a series: one entry for each bucket that has samples, in seven columns. A bucket of resolution r is
 * (end - r, end] with `end` a multiple of r since the epoch, as a PromQL window is. Buckets are numbered like that whatever
 * the block, so those of two blocks never overlap unless one replaces the other.
 */

/** Ascending; each divides the next. */
export const resolutionsMs = [300_000, 3_600_000] as const;
/** Ranges that are rolled up begin and end on a multiple of this: on the edge of a bucket of every resolution. */
export const rollAlignMs = 3_600_000;

/**
 * A column of a rollup block is found by the number of the series times 8 plus one of these. `first` stands at the instants
 * of the buckets' first samples, all others at those of the last: so both instants cost nothing where series share them.
 */
export const component = {
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

/** The first multiple of `resolutionMs` that is not before the instant: the end of the bucket it is in. */
export const bucketEnd = (timeMs: number, resolutionMs: number): number =>
  Math.ceil(timeMs / resolutionMs) * resolutionMs;
/** Where that bucket begins; the instant itself is not in it. */
export const bucketStart = (timeMs: number, resolutionMs: number): number =>
  bucketEnd(timeMs, resolutionMs) - resolutionMs;

/**
 * Two entries are no summary, marked by a NaN in every column: the staleness marker, where it is the newest of its bucket
 * (beside the entry of the samples before it), and this one, where the bucket holds a native histogram and only raw samples answer.
 */
const rawOnlyLow = 0x00000003;
const rawOnlyHigh = 0x7ff00000;

export function putRawOnly(words: Uint32Array, i: number): void {
  words[i * 2] = rawOnlyLow;
  words[i * 2 + 1] = rawOnlyHigh;
}

export const isRawOnly = (words: Uint32Array, i: number): boolean =>
  words[i * 2] === rawOnlyLow && words[i * 2 + 1] === rawOnlyHigh;

/** As file names and messages show it: 5m, 1h. */
export const formatResolution = (resolutionMs: number): string =>
  resolutionMs % 3_600_000 === 0 ? `${resolutionMs / 3_600_000}h` : `${resolutionMs / 60_000}m`;
