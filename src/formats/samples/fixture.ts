/** A batch as plain data, for tests that compare it. */
import type { LabelSet } from "../../model/labels.ts";
import type { SampleBatch } from "./batch.ts";
import { readLabelBlock } from "./labels.ts";

export interface PlainSeries {
  readonly labels: LabelSet;
  readonly samples: readonly (readonly [timeMs: number, value: number])[];
}

/** @throws ProtoError where a label block is bad. */
export function plainBatch(batch: SampleBatch): PlainSeries[] {
  const { bytes, labelStarts, labelEnds } = batch;
  const samples = Array.from({ length: batch.seriesCount }, (): [number, number][] => []);
  batch.sampleSeries.forEach((series, i) =>
    samples[series]?.push([batch.times[i] as number, batch.values[i] as number]),
  );
  return samples.map((owned, series) => ({
    labels: readLabelBlock(bytes, labelStarts[series] as number, labelEnds[series] as number),
    samples: owned,
  }));
}

/** One line a sample: `name{a="b"} value @time`. */
export function batchLines(batch: SampleBatch): string[] {
  return plainBatch(batch).flatMap(({ labels, samples }) => {
    const name = labels.find(([label]) => label === "__name__")?.[1] ?? "";
    const rest = labels.filter(([label]) => label !== "__name__");
    const inside = rest.map(([label, value]) => `${label}=${JSON.stringify(value)}`).join(",");
    return samples.map(([timeMs, value]) => `${name}{${inside}} ${value} @${timeMs}`);
  });
}
