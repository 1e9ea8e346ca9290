/** Classic histograms of a script as native histograms with custom buckets, which `load_with_nhcb` stores beside them. */
import { noBuckets } from "../../src/model/histogram/histogram.ts";
import { labelKey, labelValue, type LabelSet, withLabels } from "../../src/model/labels.ts";
import { metricName } from "../../src/query/labels.ts";
import type { SeriesLine } from "./script.ts";

interface ClassicSample {
  readonly buckets: Map<number, number>;
  sum?: number;
  count?: number;
}

interface ClassicHistogram {
  readonly labels: LabelSet;
  readonly samples: Map<number, ClassicSample>;
}

export function customBucketSeries(series: readonly SeriesLine[]): SeriesLine[] {
  const found = new Map<string, ClassicHistogram>();
  for (const line of series) {
    const [, name = "", part] = /^(.*)_(bucket|sum|count)$/.exec(metricName(line.labels)) ?? [];
    if (part === undefined) continue;
    const labels = withLabels(
      line.labels.filter(([label]) => label !== "le"),
      { __name__: name },
    );
    const key = labelKey(labels);
    const histogram = found.get(key) ?? { labels, samples: new Map<number, ClassicSample>() };
    found.set(key, histogram);
    const text = labelValue(line.labels, "le") ?? "NaN";
    const bound = /^\+?inf$/i.test(text) ? Infinity : Number(text);
    line.points.forEach((point, at) => {
      if (point === undefined) return;
      const sample = histogram.samples.get(at) ?? { buckets: new Map<number, number>() };
      histogram.samples.set(at, sample);
      if (part === "sum") sample.sum = point.value;
      else if (part === "count") sample.count = point.value;
      else if (!Number.isNaN(bound)) sample.buckets.set(bound, point.value);
    });
  }
  return [...found.values()].map(({ labels, samples }) => {
    const length = Math.max(...samples.keys()) + 1;
    const points = Array.from({ length }, (_, at) => {
      const sample = samples.get(at);
      return sample && { value: Number.NaN, stale: false, histogram: nativeOf(sample) };
    });
    return { labels, points };
  });
}

function nativeOf({ buckets, sum = 0, count }: ClassicSample) {
  const cumulative = [...buckets].sort(([a], [b]) => a - b);
  if (count !== undefined && !buckets.has(Infinity)) cumulative.push([Infinity, count]);
  const counts = cumulative.map(([, own], at) => own - (cumulative[at - 1]?.[1] ?? 0));
  const indexes = counts.flatMap((own, at) => (own === 0 ? [] : [at]));
  return {
    resetHint: "unknown" as const,
    schema: -53,
    zeroThreshold: 0,
    zeroCount: 0,
    count: count ?? cumulative.at(-1)?.[1] ?? 0,
    sum,
    positive: {
      indexes: Int32Array.from(indexes),
      counts: Float64Array.from(indexes, (at) => counts[at] ?? 0),
    },
    negative: noBuckets,
    bounds: Float64Array.from(cumulative.map(([bound]) => bound).filter(Number.isFinite)),
  };
}
