/** What samples are read from, be it the head or a block: columns by address, instants by timebase. And the pieces of one series. */
import type { Histogram } from "../../model/histogram/histogram.ts";

export interface ColumnSource {
  /**
   * Decodes `count` values into `values` from `to` on; `words` is the same memory. Native histograms are appended to the list,
   * with reset hints as they were sent; their words are places in it. True if a NaN may be among the values.
   */
  decode(
    address: number,
    count: number,
    values: Float64Array,
    words: Uint32Array,
    to: number,
    histograms: Histogram[],
  ): boolean;
  /** The bytes an address is in, which never change; undefined while the column still takes samples and must be decoded now. */
  bytesOf(address: number): Uint8Array | undefined;
  /** Where in them the column begins. */
  offsetOf(address: number): number;
  times(timebase: number, count: number, out: Float64Array, to: number): void;
  /** Which of the timebase's first `count` instants this is; -1 if none. */
  findTime(timebase: number, count: number, timeMs: number): number;
}

/** Samples that were deleted: those of these series, in this range, in blocks that are older than the deletion. */
export interface Tombstone {
  readonly fromMs: number;
  readonly toMs: number;
  /** Blocks with this number and above were made later and are not touched. */
  readonly beforeBlock: number;
  /** Ascending. */
  readonly refs: Uint32Array;
}

/** The pieces that hold one series' samples, as columns of numbers that are used again for the next series. */
export class SeriesPieces {
  readonly sources: ColumnSource[] = [];
  readonly addresses: number[] = [];
  readonly timebases: number[] = [];
  readonly counts: number[] = [];
  readonly minTimes: number[] = [];
  readonly maxTimes: number[] = [];
  /** Deletions that may apply to a piece. */
  readonly deleted: (readonly Tombstone[] | undefined)[] = [];
  /** Parts that may hold samples of the series and cannot be read. */
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

  /** Oldest first. What was pushed later stays behind what began at the same instant. */
  sort(): void {
    for (let i = 1; i < this.length; i++)
      for (let j = i; j > 0 && (this.minTimes[j - 1] as number) > (this.minTimes[j] as number); j--)
        this.#swap(j - 1, j);
  }

  reverse(from: number): void {
    for (let i = from, j = this.length - 1; i < j; i++, j--) this.#swap(i, j);
  }

  /** Whether they cannot simply stand one after another. */
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
