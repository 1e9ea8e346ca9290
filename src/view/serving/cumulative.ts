/**
 * A cumulative total from the samples of a counter or the integral of a gauge: its increase between any two times within its
 * samples. Pure. After a restart of the counter, the count since then is added; nothing is extrapolated.
 */
import type { SampleColumn } from "../../model/select.ts";

/** Between two samples further apart than this many usual intervals, the value is unknown. */
const mostIntervals = 5;
const shortestGapMs = 30_000;

export class Cumulative {
  readonly times: readonly number[];
  readonly #totals: readonly number[];
  readonly #mostGapMs: number;

  private constructor(times: readonly number[], totals: readonly number[]) {
    this.times = times;
    this.#totals = totals;
    this.#mostGapMs = Math.max(shortestGapMs, mostIntervals * medianGap(times));
  }

  static ofCounter(column: SampleColumn): Cumulative {
    const times: number[] = [];
    const totals: number[] = [];
    let total = 0;
    let before: number | undefined;
    for (const [timeMs, value] of samplesOf(column)) {
      if (value < 0) continue;
      if (before !== undefined) total += value >= before ? value - before : value;
      before = value;
      times.push(timeMs);
      totals.push(total);
    }
    return new Cumulative(times, totals);
  }

  /** The integral over seconds: joules for watts. */
  static ofGauge(column: SampleColumn): Cumulative {
    const times: number[] = [];
    const totals: number[] = [];
    let total = 0;
    let before: readonly [number, number] | undefined;
    for (const [timeMs, value] of samplesOf(column)) {
      if (before !== undefined) total += ((timeMs - before[0]) / 1_000) * ((value + before[1]) / 2);
      before = [timeMs, value];
      times.push(timeMs);
      totals.push(total);
    }
    return new Cumulative(times, totals);
  }

  get firstMs(): number {
    return this.times[0] ?? Number.POSITIVE_INFINITY;
  }

  get lastMs(): number {
    return this.times.at(-1) ?? Number.NEGATIVE_INFINITY;
  }

  get intervalMs(): number {
    return medianGap(this.times);
  }

  /** Interpolates between two samples; undefined outside them, and within a gap. */
  at(timeMs: number): number | undefined {
    const { times } = this;
    if (!(timeMs >= this.firstMs && timeMs <= this.lastMs)) return undefined;
    let low = 0;
    let high = times.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if ((times[middle] ?? 0) <= timeMs) low = middle;
      else high = middle;
    }
    const [from = 0, to = 0] = [times[low], times[high]];
    const [start = 0, end = 0] = [this.#totals[low], this.#totals[high]];
    if (timeMs === from) return start;
    if (timeMs === to) return end;
    return to - from > this.#mostGapMs
      ? undefined
      : start + ((end - start) * (timeMs - from)) / (to - from);
  }

  increase(fromMs: number, toMs: number): number | undefined {
    const [from, to] = [this.at(fromMs), this.at(toMs)];
    return from === undefined || to === undefined ? undefined : to - from;
  }
}

/** Sums the increases of several totals; undefined if one of them is unknown. */
export function increaseOf(
  all: readonly Cumulative[],
  fromMs: number,
  toMs: number,
): number | undefined {
  let sum = 0;
  for (const one of all) {
    const increase = one.increase(fromMs, toMs);
    if (increase === undefined) return undefined;
    sum += increase;
  }
  return all.length === 0 ? undefined : sum;
}

/** Returns the part of a period for which all totals have samples. */
export function commonPeriod(
  all: readonly Cumulative[],
  fromMs: number,
  toMs: number,
): { readonly fromMs: number; readonly toMs: number } | undefined {
  const from = Math.max(fromMs, ...all.map(({ firstMs }) => firstMs));
  const to = Math.min(toMs, ...all.map(({ lastMs }) => lastMs));
  // If the start falls into a gap between two samples, the period starts with the later one.
  const start = Math.max(
    from,
    ...all.map((one) =>
      one.at(from) === undefined ? (one.times.find((time) => time >= from) ?? to) : from,
    ),
  );
  return all.length > 0 && to > start ? { fromMs: start, toMs: to } : undefined;
}

/** Yields the samples without staleness markers, native histograms and values that are no number. */
export function* samplesOf({
  times,
  values,
  stale,
  histograms,
}: SampleColumn): Generator<readonly [timeMs: number, value: number]> {
  for (let at = 0; at < times.length; at++) {
    const value = values[at] as number;
    if (stale?.[at] === 1 || histograms?.[at] !== undefined || !Number.isFinite(value)) continue;
    yield [times[at] as number, value];
  }
}

function medianGap(times: readonly number[]): number {
  const gaps = times.slice(1).map((time, at) => time - (times[at] ?? time));
  return gaps.toSorted((a, b) => a - b)[gaps.length >> 1] ?? 0;
}
