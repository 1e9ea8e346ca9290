/**
 * Splits a large batch into slices that are each stored within milliseconds, so that other requests wait for one slice
 * and not for the batch. Samples keep their order; every series of the batch is in at least one slice.
 */
import type { SampleBatch } from "../../formats/samples/batch.ts";

export interface SliceLimits {
  readonly series: number;
  readonly samples: number;
}

/** A slice of new series or of duplicates takes some 12 ms to store, another one a few. */
export const sliceLimits: SliceLimits = { series: 1_000, samples: 5_000 };

export function* slices(batch: SampleBatch, limits: SliceLimits): Generator<SampleBatch> {
  const { seriesCount, sampleCount, sampleSeries } = batch;
  if (seriesCount <= limits.series && sampleCount <= limits.samples) {
    yield batch;
    return;
  }
  /** The part each series was last in, counted from 1, and its place there. */
  const parts = new Uint32Array(seriesCount);
  const places = new Uint32Array(seriesCount);
  let part = 1;
  let series: number[] = [];
  let from = 0;
  for (let sample = 0; sample < sampleCount; sample++) {
    const owner = sampleSeries[sample] as number;
    const isNew = parts[owner] !== part;
    if (sample - from >= limits.samples || (isNew && series.length >= limits.series)) {
      yield cut(batch, series, places, from, sample);
      series = [];
      from = sample;
      part++;
    }
    if (parts[owner] === part) continue;
    parts[owner] = part;
    places[owner] = series.push(owner) - 1;
  }
  if (series.length > 0) yield cut(batch, series, places, from, sampleCount);
  const bare = [...parts.keys()].filter((one) => parts[one] === 0);
  for (let at = 0; at < bare.length; at += limits.series)
    yield cut(batch, bare.slice(at, at + limits.series), places, sampleCount, sampleCount);
}

function cut(
  batch: SampleBatch,
  series: readonly number[],
  places: Uint32Array,
  from: number,
  to: number,
): SampleBatch {
  return {
    ...batch,
    seriesCount: series.length,
    labelStarts: Uint32Array.from(series, (one) => batch.labelStarts[one] as number),
    labelEnds: Uint32Array.from(series, (one) => batch.labelEnds[one] as number),
    sampleCount: to - from,
    sampleSeries: batch.sampleSeries.subarray(from, to).map((one) => places[one] as number),
    times: batch.times.subarray(from, to),
    values: batch.values.subarray(from, to),
  };
}
