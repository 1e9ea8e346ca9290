/**
 * The native histograms of open chunks, as bytes in shared slabs: a histogram word in a chunk is an address here. A
 * closed chunk contains its histograms itself, and their memory is reused.
 */
import type { Histogram } from "../../../model/histogram/histogram.ts";
import { readHistogram } from "../codec/histogram-bytes.ts";

/** Allocations are multiples of this; freed memory is reused for the same size only. */
const unit = 64;
const slabUnits = 2 ** 14;

/** The fields that a worker needs to read them. */
export interface OpenHistogramsView {
  readonly slabs: readonly Uint8Array[];
}

export class OpenHistograms implements OpenHistogramsView {
  readonly slabs: Uint8Array[] = [];
  /** Free addresses by their size in units. */
  readonly #free = new Map<number, number[]>();
  #used = slabUnits;

  /** Copies the bytes of one histogram and returns their address. */
  add(bytes: Uint8Array, start: number, end: number): number {
    const units = Math.ceil((end - start) / unit);
    const address = this.#free.get(units)?.pop() ?? this.#place(units);
    const slab = slabOf(this, address);
    for (let from = start, to = offsetOf(address); from < end; from++, to++)
      slab[to] = bytes[from] as number;
    return address;
  }

  /** Copies a histogram of another epoch and returns its address here. */
  copy(from: OpenHistogramsView, address: number): number {
    openHistogram(from, address);
    return this.add(slabOf(from, address), offsetOf(address), cursor.at);
  }

  /** Reads a histogram and frees its memory; `before` is the previous one, often with the same buckets. */
  take(address: number, before?: Histogram): Histogram {
    const histogram = openHistogram(this, address, before);
    const units = Math.ceil((cursor.at - offsetOf(address)) / unit);
    const free = this.#free.get(units);
    if (free === undefined) this.#free.set(units, [address]);
    else free.push(address);
    return histogram;
  }

  get byteLength(): number {
    return this.slabs.length * slabUnits * unit;
  }

  #place(units: number): number {
    if (this.#used + units > slabUnits) {
      this.slabs.push(new Uint8Array(new SharedArrayBuffer(slabUnits * unit)));
      this.#used = 0;
    }
    const address = (this.slabs.length - 1) * slabUnits + this.#used;
    this.#used += units;
    return address;
  }
}

const slabOf = ({ slabs }: OpenHistogramsView, address: number): Uint8Array =>
  slabs[Math.floor(address / slabUnits)] as Uint8Array;
const offsetOf = (address: number): number => (address % slabUnits) * unit;

const cursor = { at: 0 };

export function openHistogram(
  view: OpenHistogramsView,
  address: number,
  before?: Histogram,
): Histogram {
  cursor.at = offsetOf(address);
  return readHistogram(slabOf(view, address), cursor, before);
}
