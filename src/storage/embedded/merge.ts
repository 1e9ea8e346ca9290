/** Puts the pieces of one series together: one after another where they allow it, sorted and each instant once where they overlap. */
import type { Histogram } from "../../model/histogram/histogram.ts";
import type { SeriesPieces, Tombstone } from "./column-source.ts";
import { lowerBound } from "./index/postings.ts";

/** A column that grows, used again for every series. */
export class ColumnBuffer {
  times: Float64Array;
  values: Float64Array;
  words: Uint32Array;
  n = 0;
  /** A NaN may be among the values. */
  odd = false;
  /** Native histograms, by the words that stand for them; those of samples that were left out since too. */
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

/** Values alone, of pieces that follow each other; their instants are the pieces' instants one after another. */
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

/** Values and instants of pieces that overlap or of which something is deleted. Of two samples at one instant the first piece's stays. */
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

/** Decodes one piece without its deleted samples; true if a NaN may be among the rest. */
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

/** Merges the piece into what stands from `from` on. */
function weave(out: ColumnBuffer, from: number): void {
  const length = out.n - from;
  tail.reserve(length);
  copy(out, from, out.n, tail, 0);
  let [n, a, b] = [from, 0, 0];
  // Whole runs at a time: a few late samples in a long column cost little more than copying it.
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

/** By words: a NaN must not pass through a number. */
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
