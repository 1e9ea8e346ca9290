/** Samples that came as a batch, or in pieces, as the columns a select answers with. */
import type { SampleBatch } from "../../formats/samples/batch.ts";
import { readLabelBlock } from "../../formats/samples/labels.ts";
import { labelKey, type LabelSet } from "../../model/labels.ts";
import { isStale } from "../../model/stale.ts";
import type { SampleColumn, SelectedSeries } from "../../model/select.ts";

/** A label of a stored series may be as long as its engine allowed. */
const anyLength = { labels: 4_096, nameBytes: 1024 * 1024, valueBytes: 1024 * 1024 };

/** A batch whose samples stand series by series, oldest first, as every engine sends them. */
export function batchSeries(batch: SampleBatch): SelectedSeries[] {
  const { values, times, sampleSeries, sampleCount } = batch;
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length * 2);
  const found: SelectedSeries[] = [];
  for (let start = 0; start < sampleCount;) {
    const series = sampleSeries[start] ?? 0;
    let end = start + 1;
    while (end < sampleCount && sampleSeries[end] === series) end++;
    let stale: Uint8Array | undefined;
    for (let at = start; at < end; at++)
      if (isStale(words, at)) (stale ??= new Uint8Array(end - start))[at - start] = 1;
    found.push({
      labels: readLabelBlock(
        batch.bytes,
        batch.labelStarts[series] ?? 0,
        batch.labelEnds[series] ?? 0,
        anyLength,
      ),
      column: {
        times: times.slice(start, end),
        values: values.slice(start, end),
        ...(stale === undefined ? {} : { stale }),
      },
    });
    start = end;
  }
  return found;
}

/** Two ranges that follow each other as one; a series may be in either or both. */
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
  if (a.stale === undefined && b.stale === undefined) return { times, values };
  const stale = new Uint8Array(times.length);
  if (a.stale !== undefined) stale.set(a.stale);
  if (b.stale !== undefined) stale.set(b.stale, a.times.length);
  return { times, values, stale };
}
