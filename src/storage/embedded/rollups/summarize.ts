/** Computes the entries of a rollup from samples, or from the entries of a finer rollup. Pure. */
import { histogramHigh } from "../../../model/histogram/word.ts";
import { largestWhole, notWhole } from "../codec/encode.ts";
import { isStale, putStale } from "../../../model/stale.ts";
import type { ColumnBuffer } from "../merge.ts";
import { bucketEnd, isRawOnly, putRawOnly, resolutionsMs } from "./columns.ts";

const powersOfTen = [1, 10, 100, 1e3, 1e4, 1e5, 1e6] as const;
/** Relative rounding error of a sum of some hundred decimals. */
const roundingSlack = 4 * Number.EPSILON;

class ValueColumn {
  values = new Float64Array(64);
  words = new Uint32Array(this.values.buffer);

  reserve(n: number): void {
    if (this.values.length >= n) return;
    const larger = new Uint32Array(2 ** Math.ceil(Math.log2(n)) * 2);
    larger.set(this.words);
    this.words = larger;
    this.values = new Float64Array(larger.buffer);
  }
}

/** The entries of one series in one resolution; reused for the next series. */
export class RollupEntries {
  readonly firstTimes = new ValueColumn();
  readonly lastTimes = new ValueColumn();
  readonly last = new ValueColumn();
  readonly first = new ValueColumn();
  readonly count = new ValueColumn();
  readonly sum = new ValueColumn();
  readonly min = new ValueColumn();
  readonly max = new ValueColumn();
  readonly resets = new ValueColumn();
  n = 0;
  /** From 0 on: the values, except for times and counts, are whole numbers to be divided by 10^exponent. */
  exponent: number = notWhole;

  get #all(): readonly ValueColumn[] {
    return [this.last, this.first, this.count, this.sum, this.min, this.max, this.resets];
  }

  clear(atMost: number, exponent: number): void {
    this.n = 0;
    this.exponent = exponent;
    for (const column of [this.firstTimes, this.lastTimes, ...this.#all]) column.reserve(atMost);
  }

  /** Adds a staleness marker, or marks a bucket as available from raw samples only. */
  mark(timeMs: number, put: (words: Uint32Array, i: number) => void): void {
    this.firstTimes.values[this.n] = timeMs;
    this.lastTimes.values[this.n] = timeMs;
    for (const { words } of this.#all) put(words, this.n);
    this.n++;
  }
}

/** The end of each bucket of the timestamps from index `from` to `to` (exclusive), as the index after its last sample. */
export function bucketBounds(
  times: Float64Array,
  from: number,
  to: number,
  resolutionMs: number,
): Uint32Array {
  const bounds: number[] = [];
  for (let i = from; i < to;) {
    const endMs = bucketEnd(times[i] as number, resolutionMs);
    while (i < to && (times[i] as number) <= endMs) i++;
    bounds.push(i);
  }
  return Uint32Array.from(bounds);
}

/** Adds entries for the samples of a column without overlaps, from `from` to the last of the bounds. */
export function summarizeSamples(
  { times, values, words }: Pick<ColumnBuffer, "times" | "values" | "words">,
  from: number,
  bounds: Uint32Array,
  out: RollupEntries,
): void {
  // A bucket may have an entry and a marker.
  out.clear(2 * bounds.length, notWhole);
  let i = from;
  for (const end of bounds) {
    if (summarizeNumbers(times, values, i, end, out)) {
      i = end;
      continue;
    }
    let [count, sum, lost, resets, previous] = [0, 0, 0, 0, Number.NaN];
    let [min, max] = [Number.NaN, Number.NaN];
    let [first, last, staleAt, isMixed] = [-1, -1, -1, false];
    for (; i < end; i++) {
      const value = values[i] as number;
      if (value !== value) {
        if (isStale(words, i)) {
          staleAt = i;
          continue;
        }
        if (words[i * 2 + 1] === histogramHigh) isMixed = true;
      }
      if (first < 0) first = i;
      last = i;
      count++;
      const next = sum + value;
      const added = next - sum;
      lost += sum - (next - added) + (value - added);
      sum = next;
      if (!(value >= min)) min = min !== min || value < min ? value : min;
      if (!(value <= max)) max = max !== max || value > max ? value : max;
      if (value < previous) resets += previous;
      previous = value;
    }
    if (isMixed) out.mark(times[last] as number, putRawOnly);
    else if (count > 0) {
      const at = out.n++;
      out.firstTimes.values[at] = times[first] as number;
      out.lastTimes.values[at] = times[last] as number;
      copyWord(words, first, out.first.words, at);
      copyWord(words, last, out.last.words, at);
      out.count.values[at] = count;
      out.sum.values[at] = Number.isFinite(lost) ? toDecimal(sum + lost) : sum;
      out.min.values[at] = min;
      out.max.values[at] = max;
      out.resets.values[at] = resets;
    }
    if (staleAt > last) out.mark(times[staleAt] as number, putStale);
  }
}

/** Adds the entry of a bucket with only finite numbers, as nearly all are. Returns false if an infinite or NaN sum shows others. */
function summarizeNumbers(
  times: Float64Array,
  values: Float64Array,
  from: number,
  end: number,
  out: RollupEntries,
): boolean {
  const first = values[from] as number;
  // A sum begins at 0, not at -0.
  let sum = first + 0;
  let lost = 0;
  let resets = 0;
  let min = first;
  let max = first;
  let previous = first;
  for (let i = from + 1; i < end; i++) {
    const value = values[i] as number;
    const next = sum + value;
    const added = next - sum;
    lost += sum - (next - added) + (value - added);
    sum = next;
    if (value < min) min = value;
    if (value > max) max = value;
    resets += previous * Number(value < previous);
    previous = value;
  }
  if (!Number.isFinite(sum) || !Number.isFinite(lost)) return false;
  const at = out.n++;
  out.firstTimes.values[at] = times[from] as number;
  out.lastTimes.values[at] = times[end - 1] as number;
  out.first.values[at] = first;
  out.last.values[at] = previous;
  out.count.values[at] = end - from;
  out.sum.values[at] = toDecimal(sum + lost);
  out.min.values[at] = min;
  out.max.values[at] = max;
  out.resets.values[at] = resets;
  return true;
}

/** The number of entries that at most make up one of the coarsest resolution. */
const mostTogether = Math.max(...resolutionsMs) / resolutionsMs[0];

/**
 * As `summarizeSamples`, for values that are whole numbers to be divided by 10^exponent: their sums are exact. Returns
 * false if a sum may be too large, also in a coarser resolution.
 */
export function summarizeWholes(
  times: Float64Array,
  values: Float64Array,
  from: number,
  bounds: Uint32Array,
  exponent: number,
  out: RollupEntries,
): boolean {
  out.clear(bounds.length, exponent);
  const [firstTimes, lastTimes] = [out.firstTimes.values, out.lastTimes.values];
  const [firsts, lasts, counts] = [out.first.values, out.last.values, out.count.values];
  const [sums, mins, maxs] = [out.sum.values, out.min.values, out.max.values];
  const inner = out.resets.values;
  let largest = 0;
  let start = from;
  for (let at = 0; at < bounds.length; at++) {
    const end = bounds[at] as number;
    const first = values[start] as number;
    let sum = first;
    let resets = 0;
    let min = first;
    let max = first;
    let previous = first;
    for (let i = start + 1; i < end; i++) {
      const value = values[i] as number;
      sum += value;
      if (value < min) min = value;
      if (value > max) max = value;
      resets += previous * Number(value < previous);
      previous = value;
    }
    largest = Math.max(largest, Math.max(max, -min) * (end - start));
    firstTimes[at] = times[start] as number;
    lastTimes[at] = times[end - 1] as number;
    firsts[at] = first;
    lasts[at] = previous;
    counts[at] = end - start;
    sums[at] = sum;
    mins[at] = min;
    maxs[at] = max;
    inner[at] = resets;
    start = end;
  }
  out.n = bounds.length;
  return largest * mostTogether <= largestWhole;
}

/** Computes entries of a coarser resolution from those of a finer one that divides it. */
export function summarizeEntries(
  from: RollupEntries,
  resolutionMs: number,
  out: RollupEntries,
): void {
  out.clear(from.n, from.exponent);
  for (let i = 0; i < from.n;) {
    const endMs = bucketEnd(from.lastTimes.values[i] as number, resolutionMs);
    const end = summarizeSums(from, i, endMs, out);
    if (end > i) {
      i = end;
      continue;
    }
    let [count, sum, lost, resets, previous] = [0, 0, 0, 0, Number.NaN];
    let [min, max] = [Number.NaN, Number.NaN];
    let [first, last, staleAt, mixedAt] = [-1, -1, -1, -1];
    for (; i < from.n && (from.lastTimes.values[i] as number) <= endMs; i++) {
      const counted = from.count.values[i] as number;
      if (counted !== counted) {
        if (isRawOnly(from.count.words, i)) mixedAt = i;
        else staleAt = i;
        continue;
      }
      if (first < 0) first = i;
      last = i;
      count += counted;
      const value = from.sum.values[i] as number;
      const next = sum + value;
      const added = next - sum;
      lost += sum - (next - added) + (value - added);
      sum = next;
      const [low, high] = [from.min.values[i] as number, from.max.values[i] as number];
      if (!(low >= min)) min = min !== min || low < min ? low : min;
      if (!(high <= max)) max = max !== max || high > max ? high : max;
      if ((from.first.values[i] as number) < previous) resets += previous;
      resets += from.resets.values[i] as number;
      previous = from.last.values[i] as number;
    }
    if (mixedAt >= 0)
      out.mark(from.lastTimes.values[Math.max(mixedAt, last)] as number, putRawOnly);
    else if (count > 0) {
      const at = out.n++;
      out.firstTimes.values[at] = from.firstTimes.values[first] as number;
      out.lastTimes.values[at] = from.lastTimes.values[last] as number;
      copyWord(from.first.words, first, out.first.words, at);
      copyWord(from.last.words, last, out.last.words, at);
      out.count.values[at] = count;
      out.sum.values[at] = Number.isFinite(lost) ? toDecimal(sum + lost) : sum;
      out.min.values[at] = min;
      out.max.values[at] = max;
      out.resets.values[at] = resets;
    }
    if (staleAt > Math.max(last, mixedAt))
      out.mark(from.lastTimes.values[staleAt] as number, putStale);
  }
}

/**
 * Summarizes finer entries from `start` to `endMs`, and returns the index after them; `start` if one is a mark, infinite
 * or NaN.
 */
function summarizeSums(
  from: RollupEntries,
  start: number,
  endMs: number,
  out: RollupEntries,
): number {
  const times = from.lastTimes.values;
  const [firsts, lasts, counts] = [from.first.values, from.last.values, from.count.values];
  const [sums, mins, maxs] = [from.sum.values, from.min.values, from.max.values];
  const inner = from.resets.values;
  let count = counts[start] as number;
  let sum = (sums[start] as number) + 0;
  let min = mins[start] as number;
  let max = maxs[start] as number;
  let resets = inner[start] as number;
  let previous = lasts[start] as number;
  let lost = 0;
  let i = start + 1;
  for (; i < from.n && (times[i] as number) <= endMs; i++) {
    count += counts[i] as number;
    const value = sums[i] as number;
    const next = sum + value;
    const added = next - sum;
    lost += sum - (next - added) + (value - added);
    sum = next;
    if ((mins[i] as number) < min) min = mins[i] as number;
    if ((maxs[i] as number) > max) max = maxs[i] as number;
    if ((firsts[i] as number) < previous) resets += previous;
    resets += inner[i] as number;
    previous = lasts[i] as number;
  }
  // A mark is a NaN in every column; a NaN or an infinity among the samples also shows in their sum.
  if (!Number.isFinite(sum) || !Number.isFinite(lost)) return start;
  const at = out.n++;
  out.firstTimes.values[at] = from.firstTimes.values[start] as number;
  out.lastTimes.values[at] = times[i - 1] as number;
  out.first.values[at] = firsts[start] as number;
  out.last.values[at] = previous;
  out.count.values[at] = count;
  out.sum.values[at] = toDecimal(sum + lost);
  out.min.values[at] = min;
  out.max.values[at] = max;
  out.resets.values[at] = resets;
  return i;
}

/** Copied as words: a NaN payload may not survive a conversion to a number. */
function copyWord(from: Uint32Array, i: number, to: Uint32Array, at: number): void {
  to[at * 2] = from[i * 2] as number;
  to[at * 2 + 1] = from[i * 2 + 1] as number;
}

/**
 * Rounds a sum to a decimal with few digits if one is within the rounding error: 0.1 + 0.2 is 0.3. It takes 1 to 2 bytes
 * in a block, the unrounded sum 5.
 */
function toDecimal(sum: number): number {
  const slack = Math.abs(sum) * roundingSlack;
  for (const power of powersOfTen) {
    const whole = Math.round(sum * power);
    if (Math.abs(whole) > 2 ** 49) return sum;
    const decimal = whole / power;
    if (Math.abs(decimal - sum) <= slack) return decimal;
  }
  return sum;
}
