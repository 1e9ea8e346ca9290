/**
 * Decodes the format in histogram-encode.ts. Histograms with the same buckets share one array of indexes, and the counts
 * of a run are parts of one array, so a query over many histograms creates few arrays.
 */
import { withCheckedHint } from "../../../model/histogram/arithmetic.ts";
import {
  type Buckets,
  type Histogram,
  noBuckets,
  type ResetHint,
} from "../../../model/histogram/histogram.ts";
import { clearHistogramWords, histogramHigh } from "../../../model/histogram/word.ts";
import { lowerBound } from "../index/postings.ts";
import { decodeColumn } from "./decode.ts";
import { codecHistograms, mayHoldNaN } from "./encode.ts";
import { histogramIn, maxRunBuckets } from "./histogram-encode.ts";
import { readBounds, readFloat, readIndexes, resetHints } from "./histogram-bytes.ts";
import { type ByteCursor, readVarint } from "./varint.ts";

/**
 * `sent`: the original reset hints, for storing or comparing. `checked`: an unknown hint becomes "no-reset" if the
 * column has the previous histogram and there was no reset. Only valid if no sample is skipped.
 */
export type HintReading = "sent" | "checked";

/**
 * Decodes the samples with index `from` (inclusive) to `end` (exclusive) of a column of n, of any codec, into `values`
 * from `to` on; `words` is the same memory. A histogram is appended to the list, and its word is the index there.
 */
export function decodeSamples(
  bytes: Uint8Array,
  at: number,
  n: number,
  values: Float64Array,
  words: Uint32Array,
  to: number,
  histograms: Histogram[],
  hints: HintReading,
  from = 0,
  end = n,
): void {
  if (bytes[at] === codecHistograms)
    new HistogramColumn(bytes, at + 1, n, hints).read(words, to, histograms, from, end);
  else {
    decodeColumn(bytes, at, n, values, words, to, from, end);
    // The column is older than histogram words, so a NaN with these bits is a plain NaN.
    if (mayHoldNaN(bytes[at] as number)) clearHistogramWords(words, to, to + end - from);
  }
}

/** Does what `checked` does for the n samples of an open chunk that begin at `from`: those histograms are replaced. */
export function checkHints(
  words: Uint32Array,
  from: number,
  n: number,
  histograms: Histogram[],
): void {
  let before: Histogram | undefined;
  for (let i = from; i < from + n; i++) {
    const histogram = histogramIn(words, i, histograms);
    if (histogram !== undefined)
      histograms[words[i * 2] as number] = withCheckedHint(histogram, before);
    before = histogram;
  }
}

class Part {
  values = new Float64Array(1024);
  words = new Uint32Array(this.values.buffer);

  reserve(n: number): void {
    if (this.values.length >= n) return;
    this.values = new Float64Array(2 ** Math.ceil(Math.log2(n)));
    this.words = new Uint32Array(this.values.buffer);
  }
}

const floats = new Part();
const sums = new Part();
const zeros = new Part();
const counts = new Part();
const totals = new Part();

/** Consecutive histograms with the same buckets. */
interface Stretch {
  readonly start: number;
  readonly end: number;
  /** For each bucket of the run, its index in a row; -1 if it is missing. */
  readonly places: Int32Array;
  readonly positive: Int32Array;
  readonly negative: Int32Array;
  /** Start of its rows in the run's counts. */
  rows: number;
}

class HistogramColumn {
  readonly #bytes: Uint8Array;
  readonly #n: number;
  readonly #hints: HintReading;
  readonly #cursor: ByteCursor;
  #h = 0;

  constructor(bytes: Uint8Array, at: number, n: number, hints: HintReading) {
    this.#bytes = bytes;
    this.#cursor = { at };
    this.#n = n;
    this.#hints = hints;
  }

  read(words: Uint32Array, to: number, list: Histogram[], from: number, end: number): void {
    const n = this.#n;
    this.#h = this.#varint(n);
    const places = this.#h < n ? this.#readFloats(words, to, from, end) : undefined;
    const first = places === undefined ? from : lowerBound(places, 0, this.#h, from);
    const last = places === undefined ? end : lowerBound(places, 0, this.#h, end);
    const hints = this.#readHints();
    const listed = list.length;
    sums.reserve(last - first);
    this.#column(this.#h, sums, first, last);
    for (let begin = 0; begin < last;) begin += this.#run(begin, first, last, hints, list);
    for (let at = first; at < last; at++) {
      const place = (to + (places?.[at] ?? at) - from) * 2;
      words[place] = listed + at - first;
      words[place + 1] = histogramHigh;
    }
  }

  /** Reads a number and rejects one above `most`, in case the input is damaged. */
  #varint(most: number): number {
    const value = readVarint(this.#bytes, this.#cursor);
    if (value > most) throw new RangeError("a column of histograms is damaged");
    return value;
  }

  #column(n: number, out: Part, from: number, end: number): void {
    const { values, words } = out;
    this.#cursor.at = decodeColumn(this.#bytes, this.#cursor.at, n, values, words, 0, from, end);
  }

  /** Writes the floats to their positions, and returns the positions of the histograms. */
  #readFloats(words: Uint32Array, to: number, from: number, end: number): Uint32Array {
    const count = this.#n - this.#h;
    const at = new Uint32Array(count);
    const places = new Uint32Array(this.#h);
    let [next, k] = [0, 0];
    for (let i = 0; i < count; i++) {
      const place = next + this.#varint(this.#n - 1 - next);
      while (next < place) places[k++] = next++;
      at[i] = place;
      next = place + 1;
    }
    while (next < this.#n) places[k++] = next++;
    floats.reserve(count);
    this.#column(count, floats, 0, count);
    for (let i = 0; i < count; i++) {
      const place = at[i] as number;
      if (place < from || place >= end) continue;
      words[(to + place - from) * 2] = floats.words[i * 2] as number;
      words[(to + place - from) * 2 + 1] = floats.words[i * 2 + 1] as number;
    }
    return places;
  }

  #readHints(): (at: number) => ResetHint {
    const runs: { readonly end: number; readonly hint: ResetHint }[] = [];
    let end = 0;
    for (let left = this.#varint(this.#h); left > 0; left--) {
      end += this.#varint(this.#h - end);
      const hint = resetHints[this.#bytes[this.#cursor.at++] ?? resetHints.length];
      if (hint === undefined) throw new RangeError("a column of histograms is damaged");
      runs.push({ end, hint });
    }
    const breaks = new Set([0]);
    let before = 0;
    for (let left = this.#varint(this.#h); left > 0; left--)
      breaks.add((before += this.#varint(this.#h)));
    const isChecked = this.#hints === "checked";
    let run = 0;
    return (at) => {
      while (at >= (runs[run]?.end ?? Infinity)) run++;
      const hint = runs[run]?.hint ?? "unknown";
      return hint === "unknown" && isChecked && !breaks.has(at) ? "no-reset" : hint;
    };
  }

  /**
   * Appends the histograms with index `first` (inclusive) to `last` (exclusive) that are in the run; returns the run's
   * length.
   */
  #run(
    begin: number,
    first: number,
    last: number,
    hintOf: (at: number) => ResetHint,
    list: Histogram[],
  ): number {
    const bytes = this.#bytes;
    const cursor = this.#cursor;
    const m = this.#varint(this.#h - begin);
    if (m === 0) throw new RangeError("a column of histograms is damaged");
    const schema = ((bytes[cursor.at++] ?? 0) << 24) >> 24;
    const zeroThreshold = readFloat(bytes, cursor);
    const bounds = readBounds(bytes, cursor);
    const positive = readIndexes(bytes, cursor, maxRunBuckets);
    const negative = readIndexes(bytes, cursor, maxRunBuckets);
    const changes = this.#readChanges(positive.length + negative.length, m);
    const isPassed = first >= begin + m;
    const from = isPassed ? 0 : Math.max(0, first - begin);
    const end = isPassed ? 0 : Math.min(m, last - begin);
    const stretches = stretchesOf(positive, negative, changes, from, end);
    zeros.reserve(end - from);
    this.#column(m, zeros, from, end);
    const rows = this.#readCounts(
      positive.length + negative.length,
      changes,
      stretches,
      m,
      from,
      end,
    );
    const isRest = bytes[cursor.at++] === 1;
    totals.reserve(end - from);
    this.#column(m, totals, from, end);
    for (const stretch of stretches) {
      const width = stretch.positive.length + stretch.negative.length;
      for (let at = stretch.start; at < stretch.end; at++) {
        const row = stretch.rows + (at - stretch.start) * width;
        const split = row + stretch.positive.length;
        const zeroCount = zeros.values[at - from] as number;
        let count = totals.values[at - from] as number;
        if (isRest) {
          let total = zeroCount;
          for (let k = row; k < row + width; k++) total += rows[k] as number;
          count += total;
        }
        list.push({
          resetHint: hintOf(begin + at),
          schema,
          zeroThreshold,
          zeroCount,
          count,
          sum: sums.values[begin + at - first] as number,
          positive: bucketsOf(stretch.positive, rows, row, split),
          negative: bucketsOf(stretch.negative, rows, split, row + width),
          bounds,
        });
      }
    }
    return m;
  }

  /** By bucket number: the positions at which the bucket appears or disappears. */
  #readChanges(buckets: number, m: number): ReadonlyMap<number, readonly number[]> {
    const changes = new Map<number, readonly number[]>();
    let bucket = -1;
    for (let left = this.#varint(buckets); left > 0; left--) {
      bucket += 1 + this.#varint(buckets);
      const own: number[] = [];
      let before = 0;
      for (let count = this.#varint(m); count > 0; count--)
        own.push((before += this.#varint(m - 1 - before)));
      changes.set(bucket, own);
    }
    return changes;
  }

  /** The counts of each histogram as consecutive rows. */
  #readCounts(
    buckets: number,
    changes: ReadonlyMap<number, readonly number[]>,
    stretches: readonly Stretch[],
    m: number,
    from: number,
    end: number,
  ): Float64Array {
    let cells = 0;
    for (const stretch of stretches) {
      stretch.rows = cells;
      cells += (stretch.end - stretch.start) * (stretch.positive.length + stretch.negative.length);
    }
    const rows = new Float64Array(cells);
    counts.reserve(end - from);
    for (let bucket = 0; bucket < buckets; bucket++) {
      const own = changes.get(bucket);
      const before = own === undefined ? from : presentBefore(own, from);
      const until = own === undefined ? end : presentBefore(own, end);
      this.#column(own === undefined ? m : presentBefore(own, m), counts, before, until);
      const { values } = counts;
      let next = 0;
      for (const stretch of stretches) {
        const place = stretch.places[bucket] as number;
        if (place < 0) continue;
        const width = stretch.positive.length + stretch.negative.length;
        let cell = stretch.rows + place;
        for (let at = stretch.start; at < stretch.end; at++, cell += width)
          rows[cell] = values[next++] as number;
      }
    }
    return rows;
  }
}

const bucketsOf = (indexes: Int32Array, rows: Float64Array, from: number, end: number): Buckets =>
  from === end ? noBuckets : { indexes, counts: rows.subarray(from, end) };

/** Number of the first `at` histograms that have a bucket with these changes. */
function presentBefore(changes: readonly number[], at: number): number {
  let [count, since, isThere] = [0, 0, true];
  for (const change of changes) {
    if (change >= at) break;
    if (isThere) count += change - since;
    since = change;
    isThere = !isThere;
  }
  return isThere ? count + at - since : count;
}

function stretchesOf(
  positive: Int32Array,
  negative: Int32Array,
  changes: ReadonlyMap<number, readonly number[]>,
  from: number,
  end: number,
): Stretch[] {
  if (from >= end) return [];
  const events: { readonly at: number; readonly bucket: number }[] = [];
  for (const [bucket, own] of changes) for (const at of own) events.push({ at, bucket });
  events.sort((a, b) => a.at - b.at);
  const isAbsent = new Uint8Array(positive.length + negative.length);
  const stretches: Stretch[] = [];
  let next = 0;
  for (let start = from; start < end;) {
    for (let event = events[next]; event !== undefined && event.at <= start; event = events[++next])
      isAbsent[event.bucket] = 1 - (isAbsent[event.bucket] as number);
    const until = Math.min(end, events[next]?.at ?? end);
    stretches.push({ start, end: until, ...placesOf(positive, negative, isAbsent), rows: 0 });
    start = until;
  }
  return stretches;
}

function placesOf(positive: Int32Array, negative: Int32Array, isAbsent: Uint8Array) {
  const places = new Int32Array(isAbsent.length);
  let width = 0;
  for (let bucket = 0; bucket < places.length; bucket++)
    places[bucket] = isAbsent[bucket] === 1 ? -1 : width++;
  const present = (indexes: Int32Array, first: number): Int32Array =>
    width === places.length ? indexes : indexes.filter((_, at) => isAbsent[first + at] === 0);
  return { places, positive: present(positive, 0), negative: present(negative, positive.length) };
}
