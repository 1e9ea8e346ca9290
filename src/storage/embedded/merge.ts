/** Joins the pieces of one series: concatenates them, or sorts and deduplicates by timestamp if they overlap. */
import type { Histogram } from "../../model/histogram/histogram.ts";
import type { SeriesPieces, Tombstone } from "./column-source.ts";
import { lowerBound } from "./index/postings.ts";

/** A growing column, reused for every series. */
export class ColumnBuffer {
  times: Float64Array;
  values: Float64Array;
  words: Uint32Array;
  n = 0;
  /** True if the values may include a NaN. */
  odd = false;
  /** Native histograms, indexed by the histogram words; may include those of samples that were dropped since. */
  histograms: Histogram[] = [];

  constructor(length = 4096) {
    this.times = new Float64Array(length);
    this.values = new Float64Array(length);
    this.words = new Uint32Array(this.values.buffer);
  }

  reserve(n: number): void {
    if (this.values.length >= n && this.times.length >= n) return;
    const length = 2 ** Math.ceil(Math.log2(n));
    this.times = new Float64Array(length);
    this.values = new Float64Array(length);
    this.words = new Uint32Array(this.values.buffer);
  }
}

/** Concatenates only the values of consecutive pieces; their timestamps are the pieces' timestamps in the same order. */
export function concatValues(pieces: SeriesPieces, out: ColumnBuffer): void {
  if (out.values.length < pieces.samples) out.reserve(pieces.samples);
  out.n = 0;
  out.odd = false;
  if (out.histograms.length > 0) out.histograms = [];
  for (let i = 0; i < pieces.length; i++) {
    const count = pieces.counts[i] as number;
    const odd = pieces.sources[i]?.decode(
      pieces.addresses[i] as number,
      count,
      out.values,
      out.words,
      out.n,
      out.histograms,
    );
    out.odd ||= odd === true;
    out.n += count;
  }
}

export function concatTimes(pieces: SeriesPieces, out: Float64Array): number {
  let n = 0;
  for (let i = 0; i < pieces.length; i++) {
    const count = pieces.counts[i] as number;
    pieces.sources[i]?.times(pieces.timebases[i] as number, count, out, n);
    n += count;
  }
  return n;
}

const piece = new ColumnBuffer();
const tail = new ColumnBuffer();

/** Merges values and timestamps of pieces that overlap or have deletions. For equal timestamps the first piece's sample counts. */
export function mergePieces(pieces: SeriesPieces, out: ColumnBuffer): void {
  out.reserve(pieces.samples);
  out.n = 0;
  out.odd = false;
  if (out.histograms.length > 0) out.histograms = [];
  for (let i = 0; i < pieces.length; i++) {
    if (readPiece(pieces, i, out.histograms)) out.odd = true;
    if (piece.n === 0) continue;
    const first = piece.times[0] as number;
    const at =
      out.n === 0 || (out.times[out.n - 1] as number) < first ? out.n : placeOf(out, first);
    if (at === out.n) {
      copy(piece, 0, piece.n, out, out.n);
      out.n += piece.n;
    } else {
      weave(out, at);
    }
  }
}

/** Decodes one piece without its deleted samples; returns true if the rest may include a NaN. */
function readPiece(pieces: SeriesPieces, i: number, histograms: Histogram[]): boolean {
  const count = pieces.counts[i] as number;
  const source = pieces.sources[i];
  piece.reserve(count);
  source?.times(pieces.timebases[i] as number, count, piece.times, 0);
  const { values, words } = piece;
  const odd = source?.decode(pieces.addresses[i] as number, count, values, words, 0, histograms);
  piece.n = count;
  const deleted = pieces.deleted[i];
  if (deleted !== undefined) {
    let n = 0;
    for (let k = 0; k < count; k++) {
      if (isDeleted(piece.times[k] as number, deleted)) continue;
      if (n < k) copy(piece, k, k + 1, piece, n);
      n++;
    }
    piece.n = n;
  }
  return odd === true;
}

const placeOf = (column: ColumnBuffer, timeMs: number): number =>
  lowerBound(column.times, 0, column.n, timeMs);

/** Merges the piece into the samples from `from` on. */
function weave(out: ColumnBuffer, from: number): void {
  const length = out.n - from;
  tail.reserve(length);
  copy(out, from, out.n, tail, 0);
  let [n, a, b] = [from, 0, 0];
  // Copies whole runs, so that a few out-of-order samples in a long column cost little more than copying it.
  while (a < length && b < piece.n) {
    const upTo = lowerBound(tail.times, a, length, piece.times[b] as number);
    copy(tail, a, upTo, out, n);
    n += upTo - a;
    a = upTo;
    if (a === length) break;
    if (tail.times[a] === piece.times[b]) {
      b++;
      continue;
    }
    const end = lowerBound(piece.times, b, piece.n, tail.times[a] as number);
    copy(piece, b, end, out, n);
    n += end - b;
    b = end;
  }
  copy(tail, a, length, out, n);
  n += length - a;
  copy(piece, b, piece.n, out, n);
  out.n = n + piece.n - b;
}

/** Copied as words: a NaN payload may not survive a conversion to a number. */
function copy(from: ColumnBuffer, start: number, end: number, to: ColumnBuffer, at: number): void {
  if (end - start > 16) {
    to.times.set(from.times.subarray(start, end), at);
    to.words.set(from.words.subarray(start * 2, end * 2), at * 2);
    return;
  }
  for (let i = start, k = at; i < end; i++, k++) {
    to.times[k] = from.times[i] as number;
    to.words[k * 2] = from.words[i * 2] as number;
    to.words[k * 2 + 1] = from.words[i * 2 + 1] as number;
  }
}

function isDeleted(timeMs: number, tombstones: readonly Tombstone[]): boolean {
  for (const { fromMs, toMs } of tombstones) if (timeMs >= fromMs && timeMs <= toMs) return true;
  return false;
}
