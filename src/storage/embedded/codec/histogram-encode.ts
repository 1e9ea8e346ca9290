/**
 * Compresses a column with native histograms: each part of a histogram becomes a column of numbers over time
 * (encode.ts). Lossless, including which buckets a histogram lists, even empty ones.
 *
 *   u8      5
 *   varint  histograms h among the n samples
 *   [h < n: per float: varint samples since the previous float or the start; then a column of the n - h floats]
 *   varint  runs of one reset hint, per run: varint histograms, u8 hint (0 unknown, 1 reset, 2 no reset, 3 gauge)
 *   varint  breaks, per break: varint distance to the previous one or the start: a histogram with an unknown hint that follows
 *           no histogram, or a reset. Every other one with an unknown hint, but the first, is known to follow no reset
 *   column  of the h sums
 *   runs of one schema until h are complete, each:
 *     varint  histograms m, u8 schema, f64 zero threshold, varint bounds, f64 each
 *     varint  positive buckets that occur, their indexes; varint negative buckets, their indexes (histogram-bytes.ts)
 *     varint  buckets that not all m have, per bucket: varint number minus the previous one minus 1, varint changes, per change:
 *             varint distance to the previous one. The bucket is present at first; each change toggles it
 *     column  of the m zero counts
 *     columns of the counts of each bucket, positive ones first, where it is present
 *     u8      1, and a column of the count minus zero count and buckets; or 0, and a column of the count
 */
import { isReset } from "../../../model/histogram/arithmetic.ts";
import { type Buckets, equalNumbers, type Histogram } from "../../../model/histogram/histogram.ts";
import { histogramHigh } from "../../../model/histogram/word.ts";
import type { Bytes } from "../slab/bytes.ts";
import { codecHistograms, encodedBound, encodeColumn } from "./encode.ts";
import { resetHints, writeFloat, writeIndexes } from "./histogram-bytes.ts";

/** Maximum number of distinct buckets in one run; if buckets change at random, a new run begins. */
export const maxRunBuckets = 8192;

let part = new Float64Array(1024);
let partWords = new Uint32Array(part.buffer);

function reserve(n: number): void {
  if (part.length >= n) return;
  part = new Float64Array(2 ** Math.ceil(Math.log2(n)));
  partWords = new Uint32Array(part.buffer);
}

/** Writes the n samples that begin at `from`, at least one of which is a histogram in the list. */
export function encodeHistograms(
  words: Uint32Array,
  from: number,
  n: number,
  histograms: readonly Histogram[],
  out: Bytes,
  thorough: boolean,
): void {
  reserve(n);
  const list: Histogram[] = [];
  const places: number[] = [];
  for (let i = 0; i < n; i++) {
    const histogram = histogramIn(words, from + i, histograms);
    if (histogram === undefined) continue;
    list.push(histogram);
    places.push(i);
  }
  out.byte(codecHistograms);
  out.varint(list.length);
  if (list.length < n) writeFloats(words, from, n, histograms, out, thorough);
  writeHints(list, places, out);
  list.forEach(({ sum }, at) => (part[at] = sum));
  writePart(list.length, out, thorough);
  for (let at = 0; at < list.length;) at = writeRun(list, at, out, thorough);
}

/** Returns the histogram that a word refers to; undefined for a float. */
export const histogramIn = (
  words: Uint32Array,
  i: number,
  histograms: readonly Histogram[],
): Histogram | undefined =>
  words[i * 2 + 1] === histogramHigh ? histograms[words[i * 2] as number] : undefined;

function writePart(n: number, out: Bytes, thorough: boolean): void {
  out.reserve(encodedBound(n));
  out.length = encodeColumn(part, partWords, 0, n, out.array, out.length, thorough);
}

function writeFloats(
  words: Uint32Array,
  from: number,
  n: number,
  histograms: readonly Histogram[],
  out: Bytes,
  thorough: boolean,
): void {
  let [floats, next] = [0, 0];
  for (let i = 0; i < n; i++) {
    if (histogramIn(words, from + i, histograms) !== undefined) continue;
    out.varint(i - next);
    next = i + 1;
    // Copied as words: a NaN payload may not survive a conversion to a number.
    partWords[floats * 2] = words[(from + i) * 2] as number;
    partWords[floats * 2 + 1] = words[(from + i) * 2 + 1] as number;
    floats++;
  }
  writePart(floats, out, thorough);
}

function writeHints(list: readonly Histogram[], places: readonly number[], out: Bytes): void {
  const runs: { hint: Histogram["resetHint"]; length: number }[] = [];
  const breaks: number[] = [];
  list.forEach((histogram, at) => {
    const { resetHint: hint } = histogram;
    const run = runs.at(-1);
    if (run?.hint === hint) run.length++;
    else runs.push({ hint, length: 1 });
    const before = list[at - 1];
    if (hint !== "unknown" || before === undefined) return;
    const follows = places[at] === (places[at - 1] ?? 0) + 1;
    if (!follows || isReset(histogram, before)) breaks.push(at);
  });
  out.varint(runs.length);
  for (const { hint, length } of runs) {
    out.varint(length);
    out.byte(resetHints.indexOf(hint));
  }
  out.varint(breaks.length);
  breaks.forEach((at, i) => out.varint(at - (breaks[i - 1] ?? 0)));
}

/** Returns the start of the next run. */
function writeRun(
  list: readonly Histogram[],
  start: number,
  out: Bytes,
  thorough: boolean,
): number {
  const first = list[start] as Histogram;
  const positive = new BucketUnion();
  const negative = new BucketUnion();
  let end = start;
  for (; end < list.length; end++) {
    const one = list[end] as Histogram;
    if (!isAlike(first, one)) break;
    const most = one.positive.indexes.length + one.negative.indexes.length;
    if (end > start && positive.size + negative.size + most > maxRunBuckets) break;
    positive.add(one.positive);
    negative.add(one.negative);
  }
  const run = list.slice(start, end);
  const sides = [
    { buckets: run.map((one) => one.positive), indexes: positive.indexes() },
    { buckets: run.map((one) => one.negative), indexes: negative.indexes() },
  ];
  out.varint(run.length);
  out.byte(first.schema & 0xff);
  writeFloat(out, first.zeroThreshold);
  out.varint(first.bounds.length);
  for (const bound of first.bounds) writeFloat(out, bound);
  for (const { indexes } of sides) writeIndexes(out, indexes);
  writeChanges(sides, out);
  const totals = Float64Array.from(run, ({ zeroCount }) => zeroCount);
  part.set(totals);
  writePart(run.length, out, thorough);
  for (const { buckets, indexes } of sides) writeCounts(buckets, indexes, totals, out, thorough);
  const isRest = run.every(({ count }, at) => {
    const rest = count - (totals[at] as number);
    return Number.isSafeInteger(rest) && (totals[at] as number) + rest === count;
  });
  out.byte(isRest ? 1 : 0);
  run.forEach(({ count }, at) => (part[at] = isRest ? count - (totals[at] as number) : count));
  writePart(run.length, out, thorough);
  return end;
}

const isAlike = (a: Histogram, b: Histogram): boolean =>
  a === b ||
  (a.schema === b.schema &&
    a.zeroThreshold === b.zeroThreshold &&
    (a.bounds === b.bounds || equalNumbers(a.bounds, b.bounds)));

/** The union of all bucket indexes in a run, which mostly repeat. */
class BucketUnion {
  #last: Int32Array | undefined;
  #all: Set<number> | undefined;

  get size(): number {
    return this.#all?.size ?? this.#last?.length ?? 0;
  }

  add({ indexes }: Buckets): void {
    const last = this.#last;
    if (last === undefined) {
      this.#last = indexes;
      return;
    }
    if (last === indexes || equalNumbers(last, indexes)) return;
    this.#all ??= new Set(last);
    for (const index of indexes) this.#all.add(index);
    this.#last = indexes;
  }

  indexes(): Int32Array {
    return this.#all === undefined
      ? (this.#last ?? new Int32Array(0))
      : Int32Array.from(this.#all).sort();
  }
}

interface BucketSide {
  readonly buckets: readonly Buckets[];
  readonly indexes: Int32Array;
}

/** Writes which buckets appear and disappear, and when. */
function writeChanges(sides: readonly BucketSide[], out: Bytes): void {
  const changing: { readonly bucket: number; readonly changes: readonly number[] }[] = [];
  let first = 0;
  for (const { buckets, indexes } of sides) {
    const isSteady = buckets.every((one) => one.indexes.length === indexes.length);
    if (!isSteady) {
      const next = new Uint32Array(buckets.length);
      indexes.forEach((index, bucket) => {
        const changes: number[] = [];
        buckets.forEach((one, at) => {
          const isThere = one.indexes[next[at] as number] === index;
          if (isThere) next[at] = (next[at] as number) + 1;
          if (isThere !== (changes.length % 2 === 0)) changes.push(at);
        });
        if (changes.length > 0) changing.push({ bucket: first + bucket, changes });
      });
    }
    first += indexes.length;
  }
  out.varint(changing.length);
  let before = -1;
  for (const { bucket, changes } of changing) {
    out.varint(bucket - before - 1);
    before = bucket;
    out.varint(changes.length);
    changes.forEach((at, i) => out.varint(at - (changes[i - 1] ?? 0)));
  }
}

function writeCounts(
  buckets: readonly Buckets[],
  indexes: Int32Array,
  totals: Float64Array,
  out: Bytes,
  thorough: boolean,
): void {
  if (buckets.every((one) => one.indexes === indexes)) {
    const all = buckets.map(({ counts }) => counts);
    for (let bucket = 0; bucket < indexes.length; bucket++) {
      for (let at = 0; at < all.length; at++) {
        const count = (all[at] as Float64Array)[bucket] as number;
        part[at] = count;
        totals[at] = (totals[at] as number) + count;
      }
      writePart(all.length, out, thorough);
    }
    return;
  }
  const next = new Uint32Array(buckets.length);
  for (const index of indexes) {
    let n = 0;
    for (let at = 0; at < buckets.length; at++) {
      const { indexes: own, counts } = buckets[at] as Buckets;
      const place = next[at] as number;
      if (own[place] !== index) continue;
      const count = counts[place] as number;
      next[at] = place + 1;
      part[n++] = count;
      totals[at] = (totals[at] as number) + count;
    }
    writePart(n, out, thorough);
  }
}
