/** Puts the pieces of one series together: one after another where they allow it, sorted and each instant once where they overlap. */
import type { Pieces, Tombstone } from "./column-source.ts";

/** A column that grows, used again for every series. */
export class ColumnBuffer {
  times = new Float64Array(4096);
  values = new Float64Array(4096);
  words = new Uint32Array(this.values.buffer);
  n = 0;
  /** A NaN may be among the values. */
  odd = false;

  reserve(n: number): void {
    if (this.values.length >= n) return;
    const length = 2 ** Math.ceil(Math.log2(n));
    this.times = new Float64Array(length);
    this.values = new Float64Array(length);
    this.words = new Uint32Array(this.values.buffer);
  }
}

/** Values alone, of pieces that follow each other; their instants are the pieces' instants one after another. */
export function concatValues(pieces: Pieces, out: ColumnBuffer): void {
  out.reserve(pieces.samples);
  out.n = 0;
  out.odd = false;
  for (let i = 0; i < pieces.length; i++) {
    const count = pieces.counts[i] as number;
    const odd = pieces.sources[i]?.decode(
      pieces.addresses[i] as number,
      count,
      out.values,
      out.words,
      out.n,
    );
    out.odd ||= odd === true;
    out.n += count;
  }
}

export function concatTimes(pieces: Pieces, out: Float64Array): number {
  let n = 0;
  for (let i = 0; i < pieces.length; i++) {
    const count = pieces.counts[i] as number;
    pieces.sources[i]?.times(pieces.timebases[i] as number, count, out, n);
    n += count;
  }
  return n;
}

const unsorted = new ColumnBuffer();

/** Values and instants of pieces that overlap or of which something is deleted. */
export function mergePieces(pieces: Pieces, out: ColumnBuffer): void {
  concatValues(pieces, unsorted);
  concatTimes(pieces, unsorted.times);
  const order = new Uint32Array(unsorted.n);
  let kept = 0;
  for (let i = 0, at = 0; i < pieces.length; i++) {
    const end = at + (pieces.counts[i] as number);
    const deleted = pieces.deleted[i];
    for (; at < end; at++)
      if (deleted === undefined || !isDeleted(unsorted.times[at] as number, deleted))
        order[kept++] = at;
  }
  const { times } = unsorted;
  // Stable by position: of two samples at one instant the piece that came first wins.
  const sorted = order
    .subarray(0, kept)
    .sort((a, b) => (times[a] as number) - (times[b] as number) || a - b);
  out.reserve(kept);
  out.odd = unsorted.odd;
  let n = 0;
  for (const from of sorted) {
    const time = times[from] as number;
    if (n > 0 && out.times[n - 1] === time) continue;
    out.times[n] = time;
    out.words[n * 2] = unsorted.words[from * 2] as number;
    out.words[n * 2 + 1] = unsorted.words[from * 2 + 1] as number;
    n++;
  }
  out.n = n;
}

function isDeleted(timeMs: number, tombstones: readonly Tombstone[]): boolean {
  for (const { fromMs, toMs } of tombstones) if (timeMs >= fromMs && timeMs <= toMs) return true;
  return false;
}
