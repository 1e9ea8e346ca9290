/** The samples that are not in blocks yet: the epoch that accepts new ones, and the epochs that are being sealed. */
import { GrowableFloat64 } from "../slab/growable.ts";
import { Epoch } from "./epoch.ts";
import { EpochSource } from "./epoch-source.ts";
import type { WalSampleColumns } from "../wal/records.ts";

export interface HeadEpoch {
  readonly epoch: Epoch;
  readonly source: EpochSource;
}

export class Head {
  #active: HeadEpoch;
  #frozen: HeadEpoch[] = [];
  /** The newest timestamp of each series plus one, in head and blocks; 0 for none. */
  readonly #newest = new GrowableFloat64();

  constructor(firstSegment: number) {
    this.#active = open(firstSegment);
  }

  get active(): Epoch {
    return this.#active.epoch;
  }

  /** Oldest first. */
  get epochs(): readonly HeadEpoch[] {
    return [...this.#frozen, this.#active];
  }

  get frozen(): readonly HeadEpoch[] {
    return this.#frozen;
  }

  /** True if sample `i` is newer than all samples of its series. */
  isNewer({ refs, times }: WalSampleColumns, i: number): boolean {
    return (times[i] as number) >= (this.#newest.array[refs[i] as number] ?? 0);
  }

  sawTime(ref: number, timeMs: number): void {
    if (timeMs >= this.#newest.at(ref)) this.#newest.put(ref, timeMs + 1);
  }

  /** The newest timestamp of a series; -1 if it has none. */
  newestMs(ref: number): number {
    return (this.#newest.array[ref] ?? 0) - 1;
  }

  /** Time between the two newest samples of a series, if both are in the open epoch. */
  newestIntervalMs(ref: number): number | undefined {
    return this.#active.source.newestIntervalMs(ref);
  }

  /** Called before a series' number is reused. */
  forget(ref: number): void {
    this.#newest.put(ref, 0);
  }

  append(columns: WalSampleColumns, i: number, late: boolean): void {
    this.#active.epoch.append(columns, i, late);
    if (late) return;
    const ref = columns.refs[i] as number;
    this.#newest.reach(ref);
    this.#newest.array[ref] = (columns.times[i] as number) + 1;
  }

  /** Freezes the open epoch; later samples are in the segments from this one on. */
  cut(segment: number): HeadEpoch {
    const frozen = this.#active;
    this.#frozen.push(frozen);
    this.#active = open(segment);
    return frozen;
  }

  forgetEpoch(sealed: HeadEpoch): void {
    this.#frozen = this.#frozen.filter((one) => one !== sealed);
  }

  has(ref: number, fromMs: number, toMs: number): boolean {
    return (
      this.#active.source.has(ref, fromMs, toMs) ||
      this.#frozen.some(({ source }) => source.has(ref, fromMs, toMs))
    );
  }

  get byteLength(): number {
    return this.epochs.reduce((sum, { epoch }) => sum + epoch.byteLength, this.#newest.byteLength);
  }

  get samples(): number {
    return this.epochs.reduce((sum, { epoch }) => sum + epoch.samples, 0);
  }
}

function open(firstSegment: number): HeadEpoch {
  const epoch = new Epoch(firstSegment);
  return { epoch, source: new EpochSource(epoch) };
}
