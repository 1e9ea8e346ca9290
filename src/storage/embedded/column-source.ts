/**
 * The interface for reading samples of the head or a block: columns by address, timestamps by timebase; and the pieces
 * of a series.
 */
import type { Histogram } from "../../model/histogram/histogram.ts";

export interface ColumnSource {
  /**
   * Decodes `count` values into `values` from `to` on; `words` is the same memory. Native histograms are appended to the
   * list, with their original reset hints; their words are indexes into it. Returns true if the values may include a
   * NaN.
   */
  decode(
    address: number,
    count: number,
    values: Float64Array,
    words: Uint32Array,
    to: number,
    histograms: Histogram[],
  ): boolean;
  /** The immutable bytes that contain an address; undefined for a column that is still appended to and must be decoded now. */
  bytesOf(address: number): Uint8Array | undefined;
  /** Offset of the column in those bytes. */
  offsetOf(address: number): number;
  times(timebase: number, count: number, out: Float64Array, to: number): void;
  /** Index of the timestamp among the timebase's first `count`; -1 if it is not one of them. */
  findTime(timebase: number, count: number, timeMs: number): number;
}

/** A deletion: hides the samples of these series in this range, in blocks older than the deletion. */
export interface Tombstone {
  readonly fromMs: number;
  readonly toMs: number;
  /** Blocks with this number or a higher one were written later and are not affected. */
  readonly beforeBlock: number;
  /** Ascending. */
  readonly refs: Uint32Array;
}

/** The pieces with one series' samples, as arrays of numbers that are reused for the next series. */
export class SeriesPieces {
  readonly sources: ColumnSource[] = [];
  readonly addresses: number[] = [];
  readonly timebases: number[] = [];
  readonly counts: number[] = [];
  readonly minTimes: number[] = [];
  readonly maxTimes: number[] = [];
  /** Deletions that may apply to a piece. */
  readonly deleted: (readonly Tombstone[] | undefined)[] = [];
  /** Unreadable parts that may hold samples of the series. */
  readonly unreadable: string[] = [];
  length = 0;

  clear(): void {
    this.length = 0;
    if (this.unreadable.length > 0) this.unreadable.length = 0;
  }

  push(
    source: ColumnSource,
    address: number,
    timebase: number,
    count: number,
    minTimeMs: number,
    maxTimeMs: number,
    deleted?: readonly Tombstone[],
  ): void {
    const i = this.length++;
    this.sources[i] = source;
    this.addresses[i] = address;
    this.timebases[i] = timebase;
    this.counts[i] = count;
    this.minTimes[i] = minTimeMs;
    this.maxTimes[i] = maxTimeMs;
    this.deleted[i] = deleted;
  }

  /** Sorts oldest first. The sort is stable for pieces that begin at the same time. */
  sort(): void {
    for (let i = 1; i < this.length; i++)
      for (let j = i; j > 0 && (this.minTimes[j - 1] as number) > (this.minTimes[j] as number); j--)
        this.#swap(j - 1, j);
  }

  reverse(from: number): void {
    for (let i = from, j = this.length - 1; i < j; i++, j--) this.#swap(i, j);
  }

  /** True if the pieces cannot be concatenated. */
  get needsMerge(): boolean {
    if (this.length > 0 && this.deleted[0] !== undefined) return true;
    for (let i = 1; i < this.length; i++)
      if (
        (this.maxTimes[i - 1] as number) >= (this.minTimes[i] as number) ||
        this.deleted[i] !== undefined
      )
        return true;
    return false;
  }

  get samples(): number {
    let total = 0;
    for (let i = 0; i < this.length; i++) total += this.counts[i] as number;
    return total;
  }

  #swap(i: number, j: number): void {
    swap(this.sources, i, j);
    swap(this.addresses, i, j);
    swap(this.timebases, i, j);
    swap(this.counts, i, j);
    swap(this.minTimes, i, j);
    swap(this.maxTimes, i, j);
    swap(this.deleted, i, j);
  }
}

function swap(column: unknown[], i: number, j: number): void {
  const swapped = column[i];
  column[i] = column[j];
  column[j] = swapped;
}
