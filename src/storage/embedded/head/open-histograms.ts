/**
 * The native histograms of open chunks, as bytes in shared slabs: a chunk's word is an address here. When the chunk is closed
 * it holds them itself, and their places are used again.
 */
import type { Histogram } from "../../../model/histogram/histogram.ts";
import { readHistogram, writeHistogram } from "../codec/histogram-bytes.ts";
import { Bytes } from "../slab/bytes.ts";

/** Places are multiples of this; one of each size is used again for that size only. */
const unit = 64;
const slabUnits = 2 ** 14;

/** What a worker needs to read them. */
export interface OpenHistogramsView {
  readonly slabs: readonly Uint8Array[];
}

const scratch = new Bytes();

export class OpenHistograms implements OpenHistogramsView {
  readonly slabs: Uint8Array[] = [];
  /** Free places by their size in units. */
  readonly #free = new Map<number, number[]>();
  #used = slabUnits;

  /** Returns the address. */
  add(histogram: Histogram): number {
    scratch.length = 0;
    writeHistogram(scratch, histogram);
    const units = Math.ceil(scratch.length / unit);
    const address = this.#free.get(units)?.pop() ?? this.#place(units);
    slabOf(this, address).set(scratch.used, offsetOf(address));
    return address;
  }

  /** Reads it for the last time. */
  take(address: number): Histogram {
    const histogram = openHistogram(this, address);
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

export function openHistogram(view: OpenHistogramsView, address: number): Histogram {
  cursor.at = offsetOf(address);
  return readHistogram(slabOf(view, address), cursor);
}
