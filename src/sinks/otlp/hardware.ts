/**
 * Renames metrics to OpenTelemetry's hardware conventions (`hw.gpu.*`, `hw.temperature` …), with each GPU and sensor as
 * a component with an id. Metrics without an equivalent keep our name. A GPU's vendor and model come from `gpu_info`.
 */
import { otelSeries } from "../../formats/compat/otel.ts";
import type { ExportMetric, ExportPoint, ExportResource } from "../../formats/otlp/encode/model.ts";
import { findMetric, gpu, type MetricEntry } from "../../model/catalogue/index.ts";
import {
  type Device,
  deviceFromLabels,
  deviceKey,
  unidentifiedDevice,
} from "../../model/device.ts";
import { type LabelSet, labelSet, labelValue } from "../../model/labels.ts";

const maxGpus = 100_000;

interface HardwareMetric {
  readonly metric: ExportMetric;
  readonly points: ExportPoint[];
}

export class HardwareNames {
  readonly #gpus = new Map<string, Device>();

  rename(resources: readonly ExportResource[]): readonly ExportResource[] {
    for (const { metrics } of resources)
      for (const { name, points } of metrics)
        if (name === gpu.info.name) for (const { attributes } of points) this.#learn(attributes);
    return resources.map(({ attributes, metrics }) => ({
      attributes,
      metrics: this.#metrics(metrics),
    }));
  }

  #metrics(metrics: readonly ExportMetric[]): readonly ExportMetric[] {
    const found = new Map<string, HardwareMetric>();
    const others: ExportMetric[] = [];
    for (const metric of metrics) {
      const entry = findMetric(metric.name);
      const left = metric.points.filter((point) => !this.#point(entry, metric.help, point, found));
      if (left.length > 0) others.push({ ...metric, points: left });
    }
    return [...[...found.values()].map(({ metric }) => metric), ...others];
  }

  /** Adds the point under its OpenTelemetry names; returns false if it has none. */
  #point(
    entry: MetricEntry | undefined,
    help: string,
    { attributes, timeMs, value }: ExportPoint,
    found: Map<string, HardwareMetric>,
  ): boolean {
    const uuid = labelValue(attributes, "uuid");
    if (entry === undefined || uuid === undefined) return false;
    const known = this.#gpus.get(keyOf(uuid, attributes));
    const device = known ?? unidentifiedDevice(uuid, labelValue(attributes, "gpu"));
    const names = otelSeries({ metric: entry, suffix: "", labels: attributes }, device);
    for (const { name, instrument, unit, attributes: all, convert } of names) {
      let renamed = found.get(name);
      if (renamed === undefined) {
        const points: ExportPoint[] = [];
        const kind = instrument === "gauge" ? "gauge" : "sum";
        const falls = instrument === "updowncounter" ? { falls: true as const } : {};
        renamed = { metric: { name, help, unit, kind, ...falls, points }, points };
        found.set(name, renamed);
      }
      const { "hw.vendor": vendor, "hw.model": model, ...rest } = all;
      renamed.points.push({
        attributes: labelSet(
          known === undefined ? rest : { ...rest, "hw.vendor": vendor, "hw.model": model },
        ),
        timeMs,
        ...(value !== undefined && { value: convert(value) }),
      });
    }
    return names.length > 0;
  }

  #learn(labels: LabelSet): void {
    const device = deviceFromLabels(Object.fromEntries(labels));
    if (device === undefined) return;
    if (this.#gpus.size >= maxGpus) this.#gpus.clear();
    this.#gpus.set(keyOf(device.uuid, labels), device);
  }
}

const keyOf = (uuid: string, labels: LabelSet): string =>
  deviceKey(labelValue(labels, "host") ?? "", uuid);
