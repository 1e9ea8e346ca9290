/**
 * Converts a batch to OpenTelemetry's data model: resources by job, instance and host, metrics by kind, points with attributes.
 * Nothing is dropped: an incomplete histogram stays the series it came as.
 */
import type { Histogram } from "../../../model/histogram/histogram.ts";
import type { LabelSet } from "../../../model/labels.ts";
import { isStale } from "../../../model/stale.ts";
import {
  histogramAt,
  type MetadataLookup,
  type SampleBatch,
  wordsOf,
} from "../../samples/batch.ts";
import { readLabelBlock } from "../../samples/labels.ts";
import { exportedNative } from "./exponential.ts";
import { gatherHistograms } from "./histograms.ts";

export interface ExportResource {
  readonly attributes: LabelSet;
  readonly metrics: readonly ExportMetric[];
}

export interface ExportMetric {
  readonly name: string;
  readonly help: string;
  /** In UCUM; empty if the metric has no unit. */
  readonly unit: string;
  readonly kind: "gauge" | "sum" | "histogram" | "exponential";
  /** Marks a sum that may also decrease: an up-down counter. */
  readonly falls?: true;
  readonly points: readonly ExportPoint[];
}

/** A point without a value ends the series. */
export interface ExportPoint {
  readonly attributes: LabelSet;
  readonly timeMs: number;
  readonly value?: number;
  readonly histogram?: ExportHistogram;
  readonly exponential?: ExportExponential;
}

export interface ExportExponential {
  readonly count: number;
  readonly sum: number;
  readonly scale: number;
  readonly zeroCount: number;
  readonly zeroThreshold: number;
  readonly positive: ExportBuckets;
  readonly negative: ExportBuckets;
}

export interface ExportBuckets {
  readonly offset: number;
  readonly counts: readonly number[];
}

export interface ExportHistogram {
  readonly count: number;
  readonly sum?: number;
  /** One more than `bounds`. */
  readonly counts: readonly number[];
  readonly bounds: readonly number[];
}

/** One sample with its name and attributes. */
export interface NamedSample {
  readonly name: string;
  readonly attributes: LabelSet;
  readonly timeMs: number;
  readonly value: number | undefined;
  /** Replaces the value. */
  readonly native?: Histogram | undefined;
}

/** UCUM units for which a receiver would append a suffix: it finds that our names have it already. */
const ucum: Readonly<Record<string, string>> = {
  bytes: "By",
  seconds: "s",
  celsius: "Cel",
  watts: "W",
  joules: "J",
  hertz: "Hz",
  volts: "V",
  ratio: "1",
  bytes_per_second: "By/s",
};

export function exportOf(batch: SampleBatch, about: MetadataLookup): readonly ExportResource[] {
  const groups = new Map<string, { attributes: LabelSet; samples: NamedSample[] }>();
  const places: (
    | { readonly name: string; readonly attributes: LabelSet; readonly into: NamedSample[] }
    | undefined
  )[] = [];
  const words = wordsOf(batch);
  for (let at = 0; at < batch.sampleCount; at++) {
    const series = batch.sampleSeries[at] as number;
    let place = places[series];
    if (place === undefined) {
      const labels = readLabelBlock(
        batch.bytes,
        batch.labelStarts[series] as number,
        batch.labelEnds[series] as number,
      );
      const resource = resourceOf(labels);
      const key = JSON.stringify(resource);
      const group = groups.get(key) ?? { attributes: resource, samples: [] };
      groups.set(key, group);
      place = {
        name: labels.find(([label]) => label === "__name__")?.[1] ?? "",
        attributes: labels.filter(([label]) => !["__name__", "job", "instance"].includes(label)),
        into: group.samples,
      };
      places[series] = place;
    }
    const native = histogramAt(batch, words, at);
    place.into.push({
      name: place.name,
      attributes: place.attributes,
      timeMs: batch.times[at] as number,
      value: native !== undefined || isStale(words, at) ? undefined : batch.values[at],
      native,
    });
  }
  return [...groups.values()].map(({ attributes, samples }) => ({
    attributes,
    metrics: metricsOf(samples, about),
  }));
}

/** `job` and `instance` become OpenTelemetry's service name and instance, and map back to the same labels in Prometheus. */
function resourceOf(labels: LabelSet): LabelSet {
  const names: Readonly<Record<string, string>> = {
    job: "service.name",
    instance: "service.instance.id",
    host: "host.name",
  };
  return labels.flatMap(([label, value]) => {
    const name = names[label];
    return name === undefined ? [] : [[name, value] as const];
  });
}

function metricsOf(
  samples: readonly NamedSample[],
  about: MetadataLookup,
): readonly ExportMetric[] {
  const natives = samples.filter(({ native }) => native !== undefined);
  const floats =
    natives.length === 0 ? samples : samples.filter(({ native }) => native === undefined);
  const { histograms, others } = gatherHistograms(floats, about);
  const metrics = new Map<string, { metric: ExportMetric; points: ExportPoint[] }>();
  const put = (name: string, kind: ExportMetric["kind"], point: ExportPoint): void => {
    let found = metrics.get(name);
    if (found === undefined) {
      const metadata = about(name);
      const points: ExportPoint[] = [];
      const unit = ucum[metadata?.unit ?? ""] ?? "";
      found = { metric: { name, help: metadata?.help ?? "", unit, kind, points }, points };
      metrics.set(name, found);
    }
    found.points.push(point);
  };
  for (const { name, ...point } of histograms) put(name, "histogram", point);
  for (const { name, attributes, timeMs, native } of natives) {
    if (native === undefined) continue;
    const made = exportedNative(native);
    if (made === undefined) {
      // A histogram with fractional counts is reduced to its count and sum.
      put(`${name}_count`, "gauge", { attributes, timeMs, value: native.count });
      put(`${name}_sum`, "gauge", { attributes, timeMs, value: native.sum });
    } else
      put(name, "exponential" in made ? "exponential" : "histogram", {
        attributes,
        timeMs,
        ...made,
      });
  }
  for (const { name, attributes, timeMs, value } of others) {
    const kind = about(name)?.type === "counter" ? "sum" : "gauge";
    put(name, kind, { attributes, timeMs, ...(value !== undefined && { value }) });
  }
  return [...metrics.values()].map(({ metric }) => metric);
}
