/** Converts batches or partial results of samples to the columns that a select returns. */
import { histogramOf, type SampleBatch, wordsOf } from "../../formats/samples/batch.ts";
import { readLabelBlock } from "../../formats/samples/labels.ts";
import type { Histogram } from "../../model/histogram/histogram.ts";
import { labelKey, type LabelSet } from "../../model/labels.ts";
import { isStale } from "../../model/stale.ts";
import type { SampleColumn, SelectedSeries } from "../../model/select.ts";

/** Label limits of a stored series are up to the engine. */
const anyLength = { labels: 4_096, nameBytes: 1024 * 1024, valueBytes: 1024 * 1024 };

/**
 * Converts a batch whose samples are grouped by series, oldest first, as every engine sends them; histograms follow the
 * floats.
 */
export function batchSeries(batch: SampleBatch): SelectedSeries[] {
  const { times, sampleSeries, sampleCount } = batch;
  const words = wordsOf(batch);
  const found: SelectedSeries[] = [];
  for (let start = 0; start < sampleCount;) {
    const series = sampleSeries[start] ?? 0;
    let end = start + 1;
    while (end < sampleCount && sampleSeries[end] === series) end++;
    found.push({
      labels: readLabelBlock(
        batch.bytes,
        batch.labelStarts[series] ?? 0,
        batch.labelEnds[series] ?? 0,
        anyLength,
      ),
      column: columnOf(batch, words, places(times, start, end)),
    });
    start = end;
  }
  return found;
}

/** The sample indexes of one series, in time order. */
function places(times: Float64Array, start: number, end: number): Uint32Array {
  const order = Uint32Array.from({ length: end - start }, (_, at) => start + at);
  const isSorted = order.every((at) => at === start || (times[at - 1] ?? 0) < (times[at] ?? 0));
  return isSorted ? order : order.sort((a, b) => (times[a] ?? 0) - (times[b] ?? 0));
}

function columnOf(batch: SampleBatch, words: Uint32Array, order: Uint32Array): SampleColumn {
  const values = new Float64Array(order.length);
  const ownWords = new Uint32Array(values.buffer);
  let stale: Uint8Array | undefined;
  let histograms: (Histogram | undefined)[] | undefined;
  order.forEach((from, at) => {
    const [low, high] = [words[from * 2] ?? 0, words[from * 2 + 1] ?? 0];
    // Copied as words: a NaN payload may not survive a conversion to a number.
    ownWords[at * 2] = low;
    ownWords[at * 2 + 1] = high;
    if (isStale(words, from)) (stale ??= new Uint8Array(order.length))[at] = 1;
    const histogram = histogramOf(batch, low, high);
    if (histogram === undefined) return;
    histograms ??= Array.from<Histogram | undefined>({ length: order.length });
    histograms[at] = histogram;
  });
  return {
    times: Float64Array.from(order, (from) => batch.times[from] ?? 0),
    values,
    ...(stale !== undefined && { stale }),
    ...(histograms !== undefined && { histograms }),
  };
}

/** Joins two consecutive ranges; a series may be in either or both. */
export function joinSeries(
  earlier: readonly SelectedSeries[],
  later: readonly SelectedSeries[],
): SelectedSeries[] {
  const byKey = new Map<string, { labels: LabelSet; column: SampleColumn }>();
  for (const series of earlier) byKey.set(labelKey(series.labels), series);
  for (const { labels, column } of later) {
    const key = labelKey(labels);
    const before = byKey.get(key);
    byKey.set(key, {
      labels,
      column: before === undefined ? column : joinColumns(before.column, column),
    });
  }
  return [...byKey.values()];
}

function joinColumns(a: SampleColumn, b: SampleColumn): SampleColumn {
  const times = new Float64Array(a.times.length + b.times.length);
  const values = new Float64Array(times.length);
  times.set(a.times);
  times.set(b.times, a.times.length);
  values.set(a.values);
  values.set(b.values, a.values.length);
  const stale = new Uint8Array(times.length);
  if (a.stale !== undefined) stale.set(a.stale);
  if (b.stale !== undefined) stale.set(b.stale, a.times.length);
  const histogramsOf = ({ histograms, times: own }: SampleColumn) =>
    histograms ?? Array.from<undefined>({ length: own.length });
  const isMixed = a.histograms !== undefined || b.histograms !== undefined;
  return {
    times,
    values,
    ...(stale.includes(1) && { stale }),
    ...(isMixed && { histograms: [...histogramsOf(a), ...histogramsOf(b)] }),
  };
}
