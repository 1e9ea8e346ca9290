/** Joins the `_bucket`, `_sum` and `_count` series of an instant into a histogram; incomplete ones stay separate series. */
import { labelKey, type LabelSet } from "../../../model/labels.ts";
import type { MetadataLookup } from "../../samples/batch.ts";
import type { ExportHistogram, NamedSample } from "./model.ts";

export interface GatheredHistogram {
  readonly name: string;
  readonly attributes: LabelSet;
  readonly timeMs: number;
  readonly histogram?: ExportHistogram;
}

interface Parts {
  readonly family: string;
  readonly attributes: LabelSet;
  readonly timeMs: number;
  readonly samples: NamedSample[];
  readonly buckets: { readonly bound: number; readonly count: number | undefined }[];
  sum: NamedSample | undefined;
  count: NamedSample | undefined;
}

export function gatherHistograms(
  samples: readonly NamedSample[],
  about: MetadataLookup,
): { histograms: readonly GatheredHistogram[]; others: readonly NamedSample[] } {
  const parts = new Map<string, Parts>();
  const others: NamedSample[] = [];
  for (const sample of samples) {
    const [, family = "", role = ""] = /^(.*)_(bucket|sum|count)$/.exec(sample.name) ?? [];
    if (family === "" || about(family)?.type !== "histogram") {
      others.push(sample);
      continue;
    }
    const attributes = sample.attributes.filter(([label]) => label !== "le");
    const key = `${family} ${sample.timeMs} ${labelKey(attributes)}`;
    const found = parts.get(key) ?? {
      family,
      attributes,
      timeMs: sample.timeMs,
      samples: [],
      buckets: [],
      sum: undefined,
      count: undefined,
    };
    parts.set(key, found);
    found.samples.push(sample);
    if (role === "sum") found.sum = sample;
    else if (role === "count") found.count = sample;
    else {
      const le = sample.attributes.find(([label]) => label === "le")?.[1] ?? "";
      found.buckets.push({
        bound: le === "+Inf" ? Infinity : Number(le || "NaN"),
        count: sample.value,
      });
    }
  }
  const histograms: GatheredHistogram[] = [];
  for (const one of parts.values()) {
    const whole = wholeOf(one);
    if (whole === undefined) others.push(...one.samples);
    else histograms.push(whole);
  }
  return { histograms, others };
}

function wholeOf({ family, attributes, timeMs, samples, buckets, sum, count }: Parts) {
  const about = { name: family, attributes, timeMs };
  if (samples.every(({ value }) => value === undefined)) return about;
  buckets.sort((left, right) => left.bound - right.bound);
  const cumulative = buckets.map((bucket) => bucket.count ?? NaN);
  const total = cumulative.at(-1) ?? NaN;
  const isWhole =
    buckets.at(-1)?.bound === Infinity &&
    buckets.every(({ bound }) => !Number.isNaN(bound)) &&
    cumulative.every(
      (value, at) => Number.isSafeInteger(value) && value >= (cumulative[at - 1] ?? 0),
    ) &&
    (count === undefined || count.value === total);
  if (!isWhole) return undefined;
  return {
    ...about,
    histogram: {
      count: total,
      ...(sum?.value !== undefined && { sum: sum.value }),
      counts: cumulative.map((value, at) => value - (cumulative[at - 1] ?? 0)),
      bounds: buckets.slice(0, -1).map(({ bound }) => bound),
    },
  };
}
