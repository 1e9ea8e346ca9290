/** Batches as text and from plain data, for tests. */
import type { LabelSet } from "../../model/labels.ts";
import { isStale } from "../../model/stale.ts";
import type { SampleBatch } from "./batch.ts";
import { BatchBuilder } from "./builder.ts";
import { wordsOf } from "./by-series.ts";
import { readLabelBlock } from "./labels.ts";

/** `name{label=value}@time=value` for every sample; a stale marker is `end`. */
export function samplesOf(batch: SampleBatch): string[] {
  const words = wordsOf(batch);
  return Array.from({ length: batch.sampleCount }, (_, at) => {
    const series = batch.sampleSeries[at] ?? 0;
    const labels = readLabelBlock(
      batch.bytes,
      batch.labelStarts[series] ?? 0,
      batch.labelEnds[series] ?? 0,
    );
    const name = labels.find(([label]) => label === "__name__")?.[1];
    const others = labels.filter(([label]) => label !== "__name__").map((pair) => pair.join("="));
    return `${name}{${others.join()}}@${batch.times[at]}=${isStale(words, at) ? "end" : batch.values[at]}`;
  });
}

export function batchOf(samples: readonly (readonly [LabelSet, number, number])[]): SampleBatch {
  const builder = new BatchBuilder();
  for (const [labels, timeMs, value] of samples) builder.add(builder.series(labels), timeMs, value);
  return builder.finish();
}
