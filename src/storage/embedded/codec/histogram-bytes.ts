/**
 * The self-contained encoding of one native histogram, for the write-ahead log and the head's open chunks.
 *
 *   u8      reset hint: 0 unknown, 1 reset, 2 no reset, 3 gauge; + 0x80 if counts are 8 bytes each instead of varints
 *   u8      schema, two's complement
 *   f64     zero threshold, f64 sum
 *   varint  bounds, then f64 each
 *   varint  positive buckets, then a zigzag-varint index each: the first absolute, the others minus the previous one minus 1
 *   varint  negative buckets, in the same way
 *   counts: count, zero count, then those of the positive and the negative buckets
 */
import { newCounts } from "../../../model/histogram/counts.ts";
import {
  type Buckets,
  type Histogram,
  noBounds,
  noBuckets,
} from "../../../model/histogram/histogram.ts";
import type { Bytes } from "../slab/bytes.ts";
import { type ByteCursor, readVarint, unzigzag, writeVarint, zigzag } from "./varint.ts";

/** Maximum number of buckets or bounds of one histogram, which fits into a log record and a chunk of the head. */
export const maxStoredBuckets = 4096;
export const resetHints = ["unknown", "reset", "no-reset", "gauge"] as const;
const plainCounts = 0x80;

/** Returns why the store cannot hold the histogram; undefined if it can. */
export function unstorable({ positive, negative, bounds }: Histogram): string | undefined {
  const buckets = positive.indexes.length + negative.indexes.length;
  if (buckets > maxStoredBuckets || bounds.length > maxStoredBuckets)
    return `a native histogram has more than ${maxStoredBuckets} buckets`;
  return isAscending(positive) && isAscending(negative)
    ? undefined
    : "a native histogram's buckets are not in ascending order";
}

function isAscending({ indexes, counts }: Buckets): boolean {
  for (let at = 1; at < indexes.length; at++)
    if ((indexes[at] as number) <= (indexes[at - 1] as number)) return false;
  return indexes.length === counts.length;
}

export function writeHistogram(out: Bytes, histogram: Histogram): void {
  const { positive, negative, bounds, count, zeroCount } = histogram;
  const isWhole =
    isVarint(count) &&
    isVarint(zeroCount) &&
    areVarints(positive.counts) &&
    areVarints(negative.counts);
  out.byte(resetHints.indexOf(histogram.resetHint) | (isWhole ? 0 : plainCounts));
  out.byte(histogram.schema & 0xff);
  writeFloat(out, histogram.zeroThreshold);
  writeFloat(out, histogram.sum);
  out.varint(bounds.length);
  for (const bound of bounds) writeFloat(out, bound);
  writeIndexes(out, positive.indexes);
  writeIndexes(out, negative.indexes);
  const writeCounts = isWhole ? writeVarints : writeFloats;
  totals[0] = count;
  totals[1] = zeroCount;
  for (const counts of [totals, positive.counts, negative.counts]) writeCounts(out, counts);
}

const totals = new Float64Array(2);

function writeVarints(out: Bytes, values: Float64Array): void {
  out.reserve(values.length * 8);
  const { array } = out;
  let at = out.length;
  for (let i = 0; i < values.length; i++) at = writeVarint(array, at, values[i] as number);
  out.length = at;
}

function writeFloats(out: Bytes, values: Float64Array): void {
  for (const value of values) writeFloat(out, value);
}

/** Throws a RangeError for invalid bytes. Shares the indexes of `before` if it has the same buckets. */
export function readHistogram(
  bytes: Uint8Array,
  cursor: ByteCursor,
  before?: Histogram,
): Histogram {
  const head = bytes[cursor.at++];
  const schema = ((bytes[cursor.at++] ?? 0) << 24) >> 24;
  const resetHint = resetHints[(head ?? plainCounts - 1) & ~plainCounts];
  if (head === undefined || resetHint === undefined)
    throw new RangeError("a histogram's header is damaged");
  const zeroThreshold = readFloat(bytes, cursor);
  const sum = readFloat(bytes, cursor);
  const bounds = readBounds(bytes, cursor);
  const positive = readIndexesLike(before?.positive.indexes, bytes, cursor);
  const negative = readIndexesLike(before?.negative.indexes, bytes, cursor);
  const isWhole = head < plainCounts;
  const count = isWhole ? readVarint(bytes, cursor) : readFloat(bytes, cursor);
  const zeroCount = isWhole ? readVarint(bytes, cursor) : readFloat(bytes, cursor);
  return {
    resetHint,
    schema,
    zeroThreshold,
    zeroCount,
    count,
    sum,
    positive: readBuckets(positive, isWhole, bytes, cursor),
    negative: readBuckets(negative, isWhole, bytes, cursor),
    bounds,
  };
}

function readBuckets(
  indexes: Int32Array,
  isWhole: boolean,
  bytes: Uint8Array,
  cursor: ByteCursor,
): Buckets {
  if (indexes.length === 0) return noBuckets;
  const counts = newCounts(indexes.length);
  if (isWhole) for (let at = 0; at < counts.length; at++) counts[at] = readVarint(bytes, cursor);
  else for (let at = 0; at < counts.length; at++) counts[at] = readFloat(bytes, cursor);
  return { indexes, counts };
}

/** False for -0, because a varint would lose its sign. */
const isVarint = (value: number): boolean =>
  value > 0
    ? value <= Number.MAX_SAFE_INTEGER && Math.floor(value) === value
    : value === 0 && 1 / value > 0;

function areVarints(values: Float64Array): boolean {
  for (let i = 0; i < values.length; i++) if (!isVarint(values[i] as number)) return false;
  return true;
}

const float = new Float64Array(1);
const floatBytes = new Uint8Array(float.buffer);

export function writeFloat(out: Bytes, value: number): void {
  float[0] = value;
  out.reserve(8);
  const { array } = out;
  // A loop: `set` takes ten times as long for a few bytes.
  for (let byte = 0, at = out.length; byte < 8; byte++) array[at++] = floatBytes[byte] as number;
  out.length += 8;
}

export function readFloat(bytes: Uint8Array, cursor: ByteCursor): number {
  if (cursor.at + 8 > bytes.length) throw new RangeError("a number runs past the end");
  for (let byte = 0; byte < 8; byte++) floatBytes[byte] = bytes[cursor.at + byte] as number;
  cursor.at += 8;
  return float[0] as number;
}

export function readBounds(bytes: Uint8Array, cursor: ByteCursor): Float64Array {
  const length = readLength(bytes, cursor, maxStoredBuckets);
  if (length === 0) return noBounds;
  const bounds = new Float64Array(length);
  for (let at = 0; at < length; at++) bounds[at] = readFloat(bytes, cursor);
  return bounds;
}

export function writeIndexes(out: Bytes, indexes: Int32Array): void {
  out.varint(indexes.length);
  out.reserve(indexes.length * 8);
  const { array } = out;
  let at = out.length;
  let before = -1;
  for (let i = 0; i < indexes.length; i++) {
    const index = indexes[i] as number;
    at = writeVarint(array, at, zigzag(index - before - 1));
    before = index;
  }
  out.length = at;
}

/** Returns `like` itself if it has the same indexes; otherwise a new array. */
function readIndexesLike(
  like: Int32Array | undefined,
  bytes: Uint8Array,
  cursor: ByteCursor,
): Int32Array {
  const start = cursor.at;
  if (like !== undefined && readVarint(bytes, cursor) === like.length) {
    let before = -1;
    let at = 0;
    for (; at < like.length; at++) {
      before += 1 + unzigzag(readVarint(bytes, cursor));
      if (before !== like[at]) break;
    }
    if (at === like.length) return like;
  }
  cursor.at = start;
  return readIndexes(bytes, cursor);
}

export function readIndexes(
  bytes: Uint8Array,
  cursor: ByteCursor,
  most = maxStoredBuckets,
): Int32Array {
  const indexes = new Int32Array(readLength(bytes, cursor, most));
  let before = -1;
  for (let at = 0; at < indexes.length; at++) {
    before += 1 + unzigzag(readVarint(bytes, cursor));
    indexes[at] = before;
  }
  return indexes;
}

/** Reads a length, limited to the available bytes in case the input is damaged. */
function readLength(bytes: Uint8Array, cursor: ByteCursor, most: number): number {
  const length = readVarint(bytes, cursor);
  if (length > most || cursor.at + length > bytes.length)
    throw new RangeError("a histogram has more buckets than bytes");
  return length;
}
