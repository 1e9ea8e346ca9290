/**
 * Zero samples at the start times of counters and histograms, as Prometheus stores them under
 * `created-timestamp-zero-ingestion`: `increase` then sees the first increment, and a restart is a reset at its exact time.
 */
import type { BatchStart, SampleBatch } from "../../formats/samples/batch.ts";
import { BatchBuilder } from "../../formats/samples/builder.ts";
import { emptyLike } from "../../model/histogram/arithmetic.ts";
import type { Histogram } from "../../model/histogram/histogram.ts";

/** Start times remembered, so that each is written once; a hub with more series writes some of them again. */
const maxKnownStarts = 500_000;

export class StartSamples {
  readonly #known = new Map<string, number>();

  /** The zeros of a batch that were not written before; undefined if there are none. */
  zerosOf(batch: SampleBatch): SampleBatch | undefined {
    const { starts, bytes, labelStarts, labelEnds } = batch;
    if (starts === undefined) return undefined;
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const builder = new BatchBuilder();
    for (const start of starts) {
      if (start.startMs >= start.sampleMs) continue;
      const [from, to] = [labelStarts[start.series] ?? 0, labelEnds[start.series] ?? 0];
      const key = text.toString("latin1", from, to);
      if (this.#known.get(key) === start.startMs) continue;
      if (this.#known.size >= maxKnownStarts) this.#known.clear();
      this.#known.set(key, start.startMs);
      addZero(builder, builder.rawSeries(bytes, from, to), start);
    }
    return builder.sampleCount === 0 ? undefined : { ...builder.finish(), isOnlyNewer: true };
  }

  /** Called after a failed write: the next request tries again. */
  forget(): void {
    this.#known.clear();
  }
}

function addZero(builder: BatchBuilder, series: number, { startMs, histogram }: BatchStart): void {
  if (histogram === undefined) builder.add(series, startMs, 0);
  else builder.addHistogram(series, startMs, zeroLike(histogram));
}

/** Uses the same buckets, which saves a chunk. */
const zeroLike = (histogram: Histogram): Histogram => ({
  ...emptyLike(histogram),
  zeroThreshold: histogram.zeroThreshold,
  resetHint: "reset",
});
