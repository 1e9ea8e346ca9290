/**
 * Splits a large batch into slices that are each stored within milliseconds, so that other requests wait for one slice instead
 * of the whole batch. Samples keep their order; every series of the batch is in at least one slice.
 */
import type { SampleBatch } from "../../formats/samples/batch.ts";
import { hashWords } from "../../formats/samples/label-hash.ts";

export interface SliceLimits {
  readonly series: number;
  readonly samples: number;
}

/** A slice of new series or of duplicates takes some 12 ms to store, other slices a few. */
export const sliceLimits: SliceLimits = { series: 1_000, samples: 5_000 };

export function* slices(batch: SampleBatch, limits: SliceLimits): Generator<SampleBatch> {
  const { seriesCount, sampleCount } = batch;
  if (seriesCount <= limits.series && sampleCount <= limits.samples) yield batch;
  else if (isGrouped(batch)) yield* runs(batch, limits);
  else yield* gathered(batch, limits);
}

/** True if samples are ordered by series, as all known remote-write senders send them. */
function isGrouped({ sampleCount, sampleSeries }: SampleBatch): boolean {
  for (let i = 1; i < sampleCount; i++)
    if ((sampleSeries[i] as number) < (sampleSeries[i - 1] as number)) return false;
  return true;
}

/** Slices of a grouped batch are ranges of series: only the series numbers are copied. */
function* runs(batch: SampleBatch, limits: SliceLimits): Generator<SampleBatch> {
  const { seriesCount, sampleCount, sampleSeries } = batch;
  for (let [first, from] = [0, 0]; first < seriesCount;) {
    const most = Math.min(first + limits.series, seriesCount);
    let to = from;
    while (to < sampleCount && to - from < limits.samples && (sampleSeries[to] as number) < most)
      to++;
    // The last series continues in the next slice if not all its samples fit.
    const next = to < sampleCount ? Math.min(sampleSeries[to] as number, most) : most;
    const last = to > from ? (sampleSeries[to - 1] as number) + 1 : next;
    const end = Math.max(last, next);
    const numbers = new Uint32Array(to - from);
    for (let i = from; i < to; i++) numbers[i - from] = (sampleSeries[i] as number) - first;
    yield {
      ...batch,
      exemplars: undefined,
      starts: undefined,
      seriesCount: end - first,
      labelStarts: batch.labelStarts.subarray(first, end),
      labelEnds: batch.labelEnds.subarray(first, end),
      labelHashes: batch.labelHashes?.subarray(first * hashWords, end * hashWords),
      sampleCount: to - from,
      sampleSeries: numbers,
      times: batch.times.subarray(from, to),
      values: batch.values.subarray(from, to),
    };
    [first, from] = [next, to];
  }
}

/** Slices of a batch with interleaved series. */
function* gathered(batch: SampleBatch, limits: SliceLimits): Generator<SampleBatch> {
  const { seriesCount, sampleCount, sampleSeries } = batch;
  /** The last slice of each series, counted from 1, and its position there. */
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
    exemplars: undefined,
    starts: undefined,
    seriesCount: series.length,
    labelStarts: Uint32Array.from(series, (one) => batch.labelStarts[one] as number),
    labelEnds: Uint32Array.from(series, (one) => batch.labelEnds[one] as number),
    labelHashes: undefined,
    sampleCount: to - from,
    sampleSeries: batch.sampleSeries.subarray(from, to).map((one) => places[one] as number),
    times: batch.times.subarray(from, to),
    values: batch.values.subarray(from, to),
  };
}
