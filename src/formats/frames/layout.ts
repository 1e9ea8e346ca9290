/**
 * Encodes a layout: a table of texts, the metrics by name with the resolution of their values, and the series. Metric definitions
 * (kind, unit, help) are sent separately, and only to a hub that requests them.
 */
import type { LabelSet } from "../../model/labels.ts";
import type { Layout, SampleSuffix } from "../../model/layout.ts";
import { ByteReader, ByteWriter, FramesError, hashOf, limits } from "./bytes.ts";
import type { Device } from "../../model/device.ts";

export interface Definition {
  readonly hash: string;
  readonly content: Buffer;
}

interface LayoutMetric {
  readonly name: string;
  /** Integers on the wire are multiples of this step: the sender's, since the receiver's catalogue may be of another version. */
  readonly resolution: number;
}

interface LayoutSeries {
  readonly metric: LayoutMetric;
  readonly suffix: SampleSuffix;
  readonly labels: LabelSet;
}

export interface LayoutDefinition {
  readonly hash: string;
  readonly metrics: readonly LayoutMetric[];
  readonly series: readonly LayoutSeries[];
  /** By slot; 1 for counts, regardless of the metric's resolution. */
  readonly resolutions: Float64Array;
}

const suffixes: readonly SampleSuffix[] = ["", "_bucket", "_sum", "_count"];

/** Buckets and counts of a histogram are integers, regardless of the sum's resolution. */
export const resolutionOf = (suffix: SampleSuffix, resolution: number): number =>
  suffix === "_bucket" || suffix === "_count" ? 1 : resolution;

export function encodeLayout(layout: Layout): Definition {
  const texts = new Map<string, number>();
  const textOf = (text: string): number => {
    const known = texts.get(text);
    if (known !== undefined) return known;
    texts.set(text, texts.size);
    return texts.size - 1;
  };
  const metrics = new Map<string, number>();
  const metricBytes = new ByteWriter();
  const seriesBytes = new ByteWriter();
  for (const { metric, suffix, labels } of layout.series) {
    let at = metrics.get(metric.name);
    if (at === undefined) {
      at = metrics.size;
      metrics.set(metric.name, at);
      metricBytes.varint(textOf(metric.name));
      metricBytes.float(metric.resolution);
    }
    seriesBytes.varint(at);
    seriesBytes.byte(suffixes.indexOf(suffix));
    seriesBytes.varint(labels.length);
    for (const [name, value] of labels) {
      seriesBytes.varint(textOf(name));
      seriesBytes.varint(textOf(value));
    }
  }
  const bytes = new ByteWriter();
  bytes.varint(texts.size);
  for (const text of texts.keys()) bytes.text(text);
  bytes.varint(metrics.size);
  bytes.raw(metricBytes.finish());
  bytes.varint(layout.series.length);
  bytes.raw(seriesBytes.finish());
  const content = bytes.finish();
  return { hash: hashOf(content), content };
}

/** @throws FramesError */
export function decodeLayout(content: Uint8Array): LayoutDefinition {
  const reader = new ByteReader(content);
  const texts = Array.from({ length: reader.count("texts", limits.texts, 1) }, () =>
    reader.text(limits.labelValueBytes),
  );
  const textAt = (at: number): string => {
    const text = texts[at];
    if (text === undefined) throw new FramesError("a layout names a text it does not have");
    return text;
  };
  const metrics = Array.from({ length: reader.count("metrics", limits.metrics, 9) }, () => {
    const name = textAt(reader.varint());
    const resolution = reader.float();
    if (!isMetricName(name)) throw new FramesError("a metric has no valid name");
    if (!(resolution > 0 && resolution <= Number.MAX_SAFE_INTEGER))
      throw new FramesError(`the resolution of ${name} is invalid`);
    return { name, resolution };
  });
  const seen = new Set<string>();
  const series = Array.from({ length: reader.count("series", limits.series, 3) }, () => {
    const metric = metrics[reader.varint()];
    const suffix = suffixes[reader.byte()];
    if (metric === undefined || suffix === undefined)
      throw new FramesError("a series names a metric its layout does not have");
    const labels = readLabels(reader, textAt);
    const key = JSON.stringify([metric.name, suffix, labels]);
    if (seen.has(key)) throw new FramesError(`a series of ${metric.name} occurs twice`);
    seen.add(key);
    return { metric, suffix, labels };
  });
  const resolutions = Float64Array.from(series, ({ metric, suffix }) =>
    resolutionOf(suffix, metric.resolution),
  );
  return { hash: hashOf(content), metrics, series, resolutions };
}

function readLabels(reader: ByteReader, textAt: (at: number) => string): LabelSet {
  let before = "";
  return Array.from({ length: reader.count("labels on a series", limits.labels, 2) }, () => {
    const name = textAt(reader.varint());
    const value = textAt(reader.varint());
    if (!isLabelName(name) || value === "" || name <= before)
      throw new FramesError("labels are not in order, or not valid");
    before = name;
    return [name, value] as const;
  });
}

const isMetricName = (name: string): boolean => /^[a-zA-Z_:][a-zA-Z0-9_:]{0,254}$/.test(name);

/** Senders must not set `__name__` and other reserved names. */
const isLabelName = (name: string): boolean => /^(?!__)[a-zA-Z_][a-zA-Z0-9_]{0,254}$/.test(name);

/* Encodes a host's GPUs: what the page needs to identify them. */

/** Empty if the device has none. */
const optional = ["pciBusId", "driver", "vbios", "linkType", "parent"] as const;

export function encodeDevices(devices: readonly Device[]): Definition {
  const bytes = new ByteWriter();
  bytes.varint(devices.length);
  for (const device of devices) {
    bytes.text(device.uuid);
    bytes.varint(device.index);
    bytes.text(device.vendor);
    bytes.text(device.model);
    bytes.byte(device.simulated ? 1 : 0);
    bytes.varint(optional.length);
    for (const key of optional) bytes.text(device[key] ?? "");
  }
  const content = bytes.finish();
  return { hash: hashOf(content), content };
}

/** @throws FramesError */
export function decodeDevices(content: Uint8Array): readonly Device[] {
  const reader = new ByteReader(content);
  return Array.from({ length: reader.count("devices", limits.devices, 6) }, () => {
    const uuid = reader.text(limits.nameBytes);
    if (uuid === "") throw new FramesError("a device has no uuid");
    const index = reader.varint();
    const vendor = reader.text(limits.nameBytes);
    const model = reader.text(limits.nameBytes);
    const simulated = reader.byte() === 1;
    const texts = Array.from({ length: reader.count("texts of a device", 64, 1) }, () =>
      reader.text(limits.nameBytes),
    );
    const optionalFields = optional.flatMap((key, at) => {
      const text = texts[at] ?? "";
      return text === "" ? [] : [[key, text] as const];
    });
    return { uuid, index, vendor, model, simulated, ...Object.fromEntries(optionalFields) };
  });
}
