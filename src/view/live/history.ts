/**
 * The last minutes of a few readings per device (`deviceKey`), one point per second, in a ring of fixed size. Not a store: it lets
 * a page that is opened later show curves at once, and is filled from the store at start. Runs in the hub and in the browser.
 */
import { type HistoryKey, historyKeys } from "./protocol.ts";

export const HISTORY_SECONDS = 300;

/** Stored as 16-bit steps: enough for a curve 20 pixels high, and 2,000 devices need less than 5 MB. */
const steps: Readonly<Record<HistoryKey, { readonly perUnit: number; readonly zeroAt: number }>> = {
  utilization: { perUnit: 200, zeroAt: 0 },
  memoryUsedRatio: { perUnit: 200, zeroAt: 0 },
  power: { perUnit: 2, zeroAt: 0 },
  temperatureEdge: { perUnit: 2, zeroAt: 100 },
};
const ABSENT = 0xffff;

export type HistoryPoint = Readonly<Partial<Record<HistoryKey, number>>>;

const noReadings: HistoryPoint = {};

interface Ring {
  readonly columns: Uint16Array;
  newestSecond: number;
  /** The last second of `beginPoints` that opened it. */
  opening: number;
}

/** A device's point of the second that `beginPoints` named. */
export type OpenPoint = Pick<Ring, "columns">;

export class RecentHistory {
  readonly seconds: number;
  readonly #rings = new Map<string, Ring>();
  #opening = 0;
  #openSecond = 0;

  constructor(seconds: number) {
    this.seconds = seconds;
  }

  /** Skipped seconds become gaps; for a second written twice the later point wins. */
  write(device: string, second: number, point: HistoryPoint): void {
    const ring = this.#rings.get(device) ?? this.#add(device, second);
    if (second <= ring.newestSecond - this.seconds) return;
    const from = Math.max(ring.newestSecond + 1, second - this.seconds + 1);
    for (let blank = from; blank < second; blank += 1) this.#fill(ring, blank, noReadings);
    this.#fill(ring, second, point);
    ring.newestSecond = Math.max(ring.newestSecond, second);
  }

  /** Begins the points of a second, for `openPoint` and `raise`: they write what `write` does without an object per device. */
  beginPoints(second: number): void {
    this.#opening++;
    this.#openSecond = second;
  }

  /** Opens a device's point: without readings, unless it was opened for this second before. Undefined if the second is too old. */
  openPoint(device: string): OpenPoint | undefined {
    const second = this.#openSecond;
    let ring = this.#rings.get(device);
    if (ring?.opening === this.#opening) return ring;
    this.write(device, second, noReadings);
    ring ??= this.#rings.get(device);
    if (ring === undefined || second <= ring.newestSecond - this.seconds) return undefined;
    ring.opening = this.#opening;
    return ring;
  }

  /** Sets a reading of an open point, if it has none or a smaller one. */
  raise({ columns }: OpenPoint, key: HistoryKey, value: number): void {
    const step = stepOf(key, value);
    if (step === undefined) return;
    const at = historyKeys.indexOf(key) * this.seconds + slotOf(this.#openSecond, this.seconds);
    const before = columns[at] ?? ABSENT;
    if (before === ABSENT || step > before) columns[at] = step;
  }

  /** Writes a point for every second up to `endSecond`, as curves by key. */
  writeCurves(
    device: string,
    endSecond: number,
    curves: Readonly<Partial<Record<HistoryKey, readonly (number | null)[]>>>,
  ): void {
    const length = Math.max(0, ...Object.values(curves).map((curve) => curve.length));
    if (length === 0) return;
    // Opens the ring, and writes gaps for the seconds before and between.
    this.write(device, endSecond - length + 1, {});
    this.write(device, endSecond, {});
    const ring = this.#rings.get(device);
    if (ring === undefined) return;
    const oldest = Math.max(endSecond - length, ring.newestSecond - this.seconds) + 1;
    historyKeys.forEach((key, at) => {
      const curve = curves[key] ?? [];
      for (let second = oldest; second <= endSecond; second += 1)
        ring.columns[at * this.seconds + slotOf(second, this.seconds)] =
          stepOf(key, curve[curve.length - 1 - (endSecond - second)]) ?? ABSENT;
    });
  }

  /** Returns the `count` seconds up to `endSecond`, oldest first; null without a point. */
  read(
    device: string,
    key: HistoryKey,
    endSecond: number,
    count = this.seconds,
  ): (number | null)[] {
    const ring = this.#rings.get(device);
    const offset = historyKeys.indexOf(key) * this.seconds;
    return Array.from({ length: Math.min(count, this.seconds) }, (_, at) => {
      const second = endSecond - Math.min(count, this.seconds) + 1 + at;
      if (
        ring === undefined ||
        second > ring.newestSecond ||
        second <= ring.newestSecond - this.seconds
      )
        return null;
      const step = ring.columns[offset + slotOf(second, this.seconds)] ?? ABSENT;
      return step === ABSENT ? null : valueOfStep(key, step);
    });
  }

  forgetAllBut(devices: ReadonlySet<string>): void {
    for (const device of this.#rings.keys()) if (!devices.has(device)) this.#rings.delete(device);
  }

  #add(device: string, second: number): Ring {
    const columns = new Uint16Array(historyKeys.length * this.seconds).fill(ABSENT);
    const ring: Ring = { columns, newestSecond: second, opening: 0 };
    this.#rings.set(device, ring);
    return ring;
  }

  #fill({ columns }: Ring, second: number, point: HistoryPoint): void {
    const slot = slotOf(second, this.seconds);
    if (point === noReadings)
      for (let at = 0; at < historyKeys.length; at++) columns[at * this.seconds + slot] = ABSENT;
    else
      historyKeys.forEach((key, at) => {
        columns[at * this.seconds + slot] = stepOf(key, point[key]) ?? ABSENT;
      });
  }
}

/** The step that a value is stored as; undefined without a value. */
export function stepOf(key: HistoryKey, value: number | null | undefined): number | undefined {
  if (value === undefined || value === null) return undefined;
  const { perUnit, zeroAt } = steps[key];
  return Math.min(ABSENT - 1, Math.max(0, Math.round(value * perUnit) + zeroAt));
}

export function valueOfStep(key: HistoryKey, step: number): number {
  const { perUnit, zeroAt } = steps[key];
  return (step - zeroAt) / perUnit;
}

/** Numbers only: an absent value is a gap in the curve. */
export function historyPoint(read: (key: HistoryKey) => unknown): HistoryPoint {
  const point: Partial<Record<HistoryKey, number>> = {};
  for (const key of historyKeys) {
    const value = read(key);
    if (typeof value === "number") point[key] = value;
  }
  return point;
}

const slotOf = (second: number, seconds: number): number =>
  ((second % seconds) + seconds) % seconds;
