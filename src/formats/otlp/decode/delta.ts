/**
 * Converts delta to cumulative temporality: the increase since a sender's last export is added to the total of the series. A total
 * begins with the first export, as after a counter reset; the same applies after a restart of this program or an hour without an
 * export. An export that is not newer than the last one is not added again.
 */
import { add } from "../../../model/histogram/arithmetic.ts";
import { isFault, withinBuckets } from "../../../model/histogram/check.ts";
import { equalNumbers, type Histogram, isCustom } from "../../../model/histogram/histogram.ts";
import { isStale } from "../../../model/stale.ts";
import { copySample, histogramAt, type SampleBatch, wordsOf } from "../../samples/batch.ts";
import { BatchBuilder } from "../../samples/builder.ts";

/** OpenTelemetry's own default is 160 per sign: totals with more are merged into wider buckets. */
const mostBuckets = 320;

export interface DeltaLimits {
  readonly series: number;
  /** Total of all histograms. */
  readonly buckets: number;
  readonly staleMs: number;
}

const defaultLimits: DeltaLimits = { series: 200_000, buckets: 4_000_000, staleMs: 3_600_000 };

export interface CumulativeBatch {
  readonly batch: SampleBatch;
  /** `outOfOrder`: samples older than the last one of their series; `overLimit`: samples of series beyond the limit. */
  readonly outOfOrder: number;
  readonly overLimit: number;
}

/** The error message for the sender; undefined if no point was refused. */
export function describeRefusedDeltas({
  outOfOrder,
  overLimit,
}: Omit<CumulativeBatch, "batch">): string | undefined {
  if (outOfOrder > 0)
    return `${outOfOrder} points with delta temporality are older than the last one of their series`;
  if (overLimit > 0)
    return `${overLimit} points with delta temporality are of more series than totals are held for: send them cumulative`;
  return undefined;
}

interface Total {
  readonly timeMs: number;
  readonly seenMs: number;
  readonly total: number | Histogram;
}

const bucketsOf = (total: number | Histogram): number =>
  typeof total === "number" ? 0 : total.positive.counts.length + total.negative.counts.length;

export class DeltaTotals {
  readonly #limits: DeltaLimits;
  /** Keyed by label block; the least recently seen series first. */
  readonly #totals = new Map<string, Total>();
  #buckets = 0;

  constructor(limits: Partial<DeltaLimits> = {}) {
    this.#limits = { ...defaultLimits, ...limits };
  }

  get size(): number {
    return this.#totals.size;
  }

  /** Returns the batch with totals instead of increases. `nowMs` must not go back. */
  accumulate(batch: SampleBatch, deltaSeries: readonly number[], nowMs: number): CumulativeBatch {
    if (deltaSeries.length === 0) return { batch, outOfOrder: 0, overLimit: 0 };
    this.#forgetStale(nowMs);
    const { bytes, labelStarts, labelEnds, sampleSeries, times } = batch;
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const keys = new Map<number, string>();
    for (const series of deltaSeries)
      keys.set(series, text.toString("latin1", labelStarts[series], labelEnds[series]));
    const begun = new Set([...keys.values()].filter((key) => this.#totals.has(key)));
    const words = wordsOf(batch);
    const out = new BatchBuilder();
    let [outOfOrder, overLimit] = [0, 0];
    for (let at = 0; at < batch.sampleCount; at++) {
      const series = sampleSeries[at] as number;
      const key = keys.get(series);
      if (key === undefined || isStale(words, at)) {
        if (key !== undefined) this.#forget(key);
        copySample(batch, words, at, out, series);
        continue;
      }
      const timeMs = times[at] as number;
      const delta = histogramAt(batch, words, at) ?? (batch.values[at] as number);
      const total = this.#add(key, timeMs, delta, nowMs);
      if (total === "out of order") outOfOrder++;
      else if (total === "limit") overLimit++;
      else if (typeof total === "number") out.add(series, timeMs, total);
      else out.addHistogram(series, timeMs, total);
    }
    const { sampleCount, sampleSeries: ofSeries, times: at, values, histograms } = out.finish();
    // A total starts with its first export; each later increase starts where the previous one ended.
    const starts = batch.starts?.filter(({ series }) => {
      const key = keys.get(series);
      if (key === undefined) return true;
      const isFirst = !begun.has(key);
      begun.add(key);
      return isFirst;
    });
    const changed = { sampleCount, sampleSeries: ofSeries, times: at, values, histograms, starts };
    return { batch: { ...batch, ...changed }, outOfOrder, overLimit };
  }

  #add(
    key: string,
    timeMs: number,
    delta: number | Histogram,
    nowMs: number,
  ): number | Histogram | "out of order" | "limit" {
    const before = this.#totals.get(key);
    if (before !== undefined && timeMs < before.timeMs) return "out of order";
    // A resend because the response was lost: it is already counted.
    if (timeMs === before?.timeMs) return before.total;
    if (before === undefined && this.#isFull(delta)) return "limit";
    const total = before === undefined ? delta : sumOf(before.total, delta);
    if (before !== undefined) this.#forget(key);
    this.#totals.set(key, { timeMs, seenMs: nowMs, total });
    this.#buckets += bucketsOf(total);
    return total;
  }

  #isFull(delta: number | Histogram): boolean {
    const { series, buckets } = this.#limits;
    return this.#totals.size >= series || this.#buckets + bucketsOf(delta) > buckets;
  }

  #forget(key: string): void {
    this.#buckets -= bucketsOf(this.#totals.get(key)?.total ?? 0);
    this.#totals.delete(key);
  }

  #forgetStale(nowMs: number): void {
    for (const [key, { seenMs }] of this.#totals) {
      if (nowMs - seenMs < this.#limits.staleMs) return;
      this.#forget(key);
    }
  }
}

/** If a sender changes the kind of its samples or the bounds of its buckets, the total starts again. */
function sumOf(total: number | Histogram, delta: number | Histogram): number | Histogram {
  if (typeof total === "number") return typeof delta === "number" ? total + delta : delta;
  if (typeof delta === "number" || !equalNumbers(total.bounds, delta.bounds)) return delta;
  const sum = add(total, delta)?.histogram;
  if (sum === undefined || isCustom(sum)) return sum ?? delta;
  const limited = withinBuckets(sum, mostBuckets);
  return isFault(limited) ? delta : limited;
}
