/**
 * The timestamps of chunks. Series scraped together share one timebase for as long as their timestamps are the same; a
 * series that differs forks it, and others that differ in the same way join its fork.
 */
import { GrowableUint32, GrowableUint8 } from "../slab/growable.ts";

/** Samples of a chunk, and so timestamps of a timebase. */
export const chunkSamples = 32;
const perSlab = 16_384;
const slabShift = 14;
const slabMask = perSlab - 1;
/** Number of start timestamps of open timebases that are remembered for other series to join. */
const rememberedStarts = 65_536;

/** The fields that a worker needs to read them. */
export interface TimebasesView {
  readonly slabs: readonly Float64Array[];
}

export class Timebases implements TimebasesView {
  readonly slabs: Float64Array[] = [];
  readonly #length = new GrowableUint8();
  /** The newest fork of each timebase, as its number plus one. */
  readonly #fork = new GrowableUint32();
  #startedAt = new Map<number, number>();
  #startedBefore = new Map<number, number>();
  #count = 0;
  #last = -1;

  get count(): number {
    return this.#count;
  }

  /** The timebase of a chunk whose first sample is at `times[i]`. */
  start(times: Float64Array, i: number): number {
    const timeMs = times[i] as number;
    if (this.#last >= 0 && this.time(this.#last, 0) === timeMs) return this.#last;
    const known = this.#startedAt.get(timeMs) ?? this.#startedBefore.get(timeMs);
    this.#last = known ?? this.#make(timeMs);
    return this.#last;
  }

  /** The timebase to use from now on for sample number n of a chunk, at `times[i]`. */
  extend(timebase: number, n: number, times: Float64Array, i: number): number {
    const timeMs = times[i] as number;
    if (n === this.#length.array[timebase]) {
      this.#put(timebase, n, timeMs);
      return timebase;
    }
    return this.time(timebase, n) === timeMs ? timebase : this.#forked(timebase, n, timeMs);
  }

  /** True if timestamp number n of the timebase is before `times[i]`. */
  isBefore(timebase: number, n: number, times: Float64Array, i: number): boolean {
    return this.time(timebase, n) < (times[i] as number);
  }

  time(timebase: number, n: number): number {
    return timeOf(this, timebase, n);
  }

  #put(timebase: number, n: number, timeMs: number): void {
    const slab = this.slabs[timebase >>> slabShift] as Float64Array;
    slab[(timebase & slabMask) * chunkSamples + n] = timeMs;
    this.#length.array[timebase] = n + 1;
  }

  #forked(timebase: number, n: number, timeMs: number): number {
    const other = this.#fork.at(timebase) - 1;
    if (other >= 0 && this.#length.at(other) > n && this.#agree(timebase, other, n, timeMs))
      return other;
    const fork = this.#new();
    for (let i = 0; i < n; i++) this.#put(fork, i, this.time(timebase, i));
    this.#put(fork, n, timeMs);
    this.#fork.put(timebase, fork + 1);
    return fork;
  }

  #agree(timebase: number, other: number, n: number, timeMs: number): boolean {
    if (this.time(other, n) !== timeMs) return false;
    for (let i = n - 1; i >= 0; i--)
      if (this.time(other, i) !== this.time(timebase, i)) return false;
    return true;
  }

  #make(timeMs: number): number {
    const timebase = this.#new();
    this.#put(timebase, 0, timeMs);
    if (this.#startedAt.size >= rememberedStarts) {
      this.#startedBefore = this.#startedAt;
      this.#startedAt = new Map();
    }
    this.#startedAt.set(timeMs, timebase);
    return timebase;
  }

  #new(): number {
    const timebase = this.#count++;
    if (timebase >>> slabShift === this.slabs.length)
      this.slabs.push(new Float64Array(new SharedArrayBuffer(perSlab * chunkSamples * 8)));
    this.#length.reach(timebase);
    return timebase;
  }
}

export function timeOf(view: TimebasesView, timebase: number, n: number): number {
  const slab = view.slabs[timebase >>> slabShift] as Float64Array;
  return slab[(timebase & slabMask) * chunkSamples + n] as number;
}

export function copyTimes(
  view: TimebasesView,
  timebase: number,
  count: number,
  out: Float64Array,
  to: number,
): void {
  const slab = view.slabs[timebase >>> slabShift] as Float64Array;
  const from = (timebase & slabMask) * chunkSamples;
  for (let i = 0; i < count; i++) out[to + i] = slab[from + i] as number;
}
