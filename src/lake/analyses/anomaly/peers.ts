/**
 * Compares the GPUs of a machine with each other: a change that all cards share is due to the room, not to the card. Bounded
 * memory.
 */
import type { StreamFit } from "./statistics/fit.ts";
import { medianOf, Spread } from "./statistics/spread.ts";
import { WorkGroup } from "./work.ts";

/** Fewer do not form a group: if one of three differs, any of them may be faulty. */
const leastPeers = 4;
const mostWork = 1_024;
const rememberMs = 60_000;

interface PeerValue {
  value: number;
  timeMs: number;
}

interface Side {
  readonly reports: Map<string, PeerValue>;
  slot: number;
  common: number;
}

/** The deviation that most of them reach, up or down: two of four faulty cards do not count as the room. */
function commonOf(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  const low = sorted[Math.floor(0.3 * (sorted.length - 1))] ?? 0;
  const high = sorted[Math.ceil(0.7 * (sorted.length - 1))] ?? 0;
  return low > 0 ? low : Math.min(0, high);
}

export class Peers {
  readonly #sides = new Map<string, Side>();
  readonly #work = new Map<string, WorkGroup>();
  readonly #fits = new Map<string, Map<string, StreamFit>>();
  readonly #clocks = new Map<string, Spread>();
  readonly #mostWatts = new Map<string, number>();

  /** Records the deviation of a GPU (`deviceKey`) and returns the group's common deviation; 0 if the group is too small. */
  offBy(group: string, device: string, timeMs: number, value: number, slotMs: number): number {
    let side = this.#sides.get(group);
    if (side === undefined)
      this.#sides.set(group, (side = { reports: new Map(), slot: -1, common: 0 }));
    const report = side.reports.get(device);
    if (report === undefined) side.reports.set(device, { value, timeMs });
    else {
      report.value = value;
      report.timeMs = timeMs;
    }
    const slot = Math.floor(timeMs / slotMs);
    if (slot !== side.slot) {
      side.slot = slot;
      const fresh: number[] = [];
      for (const [name, one] of side.reports) {
        if (timeMs - one.timeMs <= rememberMs) fresh.push(one.value);
        else side.reports.delete(name);
      }
      side.common = fresh.length >= leastPeers ? commonOf(fresh) : 0;
    }
    return side.common;
  }

  /** Evicts the least recently used group when there are too many. */
  work(key: string): WorkGroup {
    let group = this.#work.get(key);
    if (group === undefined) group = new WorkGroup();
    else this.#work.delete(key);
    this.#work.set(key, group);
    if (this.#work.size > mostWork) {
      const [oldest] = this.#work.keys();
      if (oldest !== undefined) this.#work.delete(oldest);
    }
    return group;
  }

  clock(model: string): Spread {
    let spread = this.#clocks.get(model);
    if (spread === undefined) this.#clocks.set(model, (spread = new Spread(1e6)));
    return spread;
  }

  /** The highest power of any GPU of the model, including this reading: approximates the limit if none is reported. */
  mostWatts(model: string, watts: number): number {
    const most = Math.max(watts, this.#mostWatts.get(model) ?? 0);
    this.#mostWatts.set(model, most);
    return most;
  }

  /** The median thermal fit of the group's other GPUs, for a new one; undefined if none has enough data. */
  learned(group: string, device: string, least: number): Float64Array | undefined {
    const others = [...(this.#fits.get(group) ?? [])].filter(
      ([name, fit]) => name !== device && fit.count >= least,
    );
    const first = others[0]?.[1];
    if (first === undefined) return undefined;
    return Float64Array.from({ length: first.size }, (_, at) =>
      medianOf(others.slice(0, 16).map(([, fit]) => fit.weights[at] ?? 0)),
    );
  }

  join(group: string, device: string, fit: StreamFit): void {
    const fits = this.#fits.get(group) ?? new Map<string, StreamFit>();
    this.#fits.set(group, fits.set(device, fit));
  }

  leave(device: string): void {
    for (const [group, fits] of this.#fits) {
      fits.delete(device);
      if (fits.size === 0) this.#fits.delete(group);
    }
    for (const [group, { reports }] of this.#sides) {
      reports.delete(device);
      if (reports.size === 0) this.#sides.delete(group);
    }
  }
}
