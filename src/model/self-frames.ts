/** The registry of self-metrics: components put (metric, value, labels), and the layout is built from them. */
import type { MetricEntry } from "./catalogue/entry.ts";
import { type Frame, FrameWriter } from "./frame.ts";
import { labelSet } from "./labels.ts";
import { type Layout, LayoutBuilder, type SampleSuffix, type Series } from "./layout.ts";

type MetricLabels = Readonly<Record<string, string>>;

/** A series with the value undefined is omitted. */
export type PutMetric = (
  metric: MetricEntry,
  value: number | undefined,
  labels?: MetricLabels,
  suffix?: SampleSuffix,
) => void;

/** Puts the current self-metrics of one component. */
export type CollectMetrics = (put: PutMetric, nowMs: number) => void;

interface SelfSample {
  readonly metric: MetricEntry;
  readonly value: number;
  readonly labels: MetricLabels;
  readonly suffix: SampleSuffix;
}

/** Reuses the layout while the set of series stays the same. */
export class SelfFrames {
  #layout: Layout = { series: [] };

  at(nowMs: number, components: readonly CollectMetrics[]): Frame {
    const samples: SelfSample[] = [];
    const put: PutMetric = (metric, value, labels = {}, suffix = "") => {
      if (value !== undefined) samples.push({ metric, value, labels, suffix });
    };
    for (const collect of components) collect(put, nowMs);
    const { series } = this.#layout;
    if (
      samples.length !== series.length ||
      !samples.every((sample, at) => isOf(sample, series[at]))
    ) {
      const builder = new LayoutBuilder();
      for (const { metric, labels, suffix } of samples)
        builder.add(metric, labelSet(labels), suffix);
      this.#layout = builder.build();
    }
    const writer = new FrameWriter(this.#layout, nowMs);
    samples.forEach(({ value }, slot) => writer.set(slot, value));
    return writer.finish();
  }
}

function isOf({ metric, labels, suffix }: SelfSample, series: Series | undefined): boolean {
  if (series?.metric !== metric || series.suffix !== suffix) return false;
  let count = 0;
  for (const name in labels) if (labels[name] !== "") count++;
  return (
    count === series.labels.length && series.labels.every(([name, value]) => labels[name] === value)
  );
}
