/**
 * Another exporter's series as one of ours: the metric, its labels, the GPU and the conversion, worked out once per series.
 * A series that no table knows is none of a GPU; one of our own names passes as it is.
 */
import { catalogue, findMetric, gpu, type MetricEntry } from "../../model/catalogue/index.ts";
import {
  type Device,
  deviceFromLabels,
  deviceLabels,
  fallbackUuid,
  unidentifiedDevice,
} from "../../model/device.ts";
import { type LabelSet, labelSet } from "../../model/labels.ts";
import type { GpuOwner, Match } from "../compat/row.ts";
import { exporterNames } from "./list.ts";
import type { ExporterGpu, ExporterLabels, ExporterMetric } from "./table.ts";

/** What a scrape or a sender adds to every series. */
export interface SeriesOrigin {
  readonly job: string | undefined;
  readonly instance: string | undefined;
}

export interface TranslatedSeries {
  /** `gpulse` for our own names. */
  readonly exporter: string;
  readonly origin: SeriesOrigin;
  readonly host: string;
  readonly device: Device;
  readonly owner: GpuOwner | undefined;
  /** Absent for a series that only describes the GPU. */
  readonly reading:
    | {
        readonly metric: MetricEntry;
        readonly labels: LabelSet;
        readonly read: ExporterMetric["read"];
        readonly zeroIsAbsent: boolean;
      }
    | undefined;
}

export const ownExporter = "gpulse";

/** Our own names about GPUs, for selecting the series of a gpulse agent. */
export const ownGpuNames: readonly string[] = catalogue
  .filter(({ subject, kind }) => subject === "device" && kind !== "histogram")
  .map(({ name }) => name);

export function translateSeries(
  name: string,
  labels: ExporterLabels,
): TranslatedSeries | undefined {
  const own = findMetric(name);
  if (own?.subject === "device" && labels["uuid"] !== undefined) return ownSeries(own, labels);
  const plain = withoutDots(labels);
  for (const { table, metrics } of exporterNames.get(name) ?? []) {
    const about = table.identify(plain);
    if (about === undefined) continue;
    const found = metrics.find(({ when }) => matches(plain, when));
    if (found === undefined && metrics.length > 0) return undefined;
    const origin = { job: labels["job"], instance: labels["instance"] };
    const host = about.host ?? hostOf(origin.instance);
    const device = deviceOf(about, table.name, host);
    return {
      exporter: table.name,
      origin,
      host,
      device,
      owner: about.owner,
      reading: found && {
        metric: found.metric,
        labels: deviceLabels(device, host, { ...found.labels, ...copied(plain, found.copy) }),
        read: found.read,
        zeroIsAbsent: found.zeroIsAbsent === true,
      },
    };
  }
  return undefined;
}

function ownSeries(metric: MetricEntry, labels: ExporterLabels): TranslatedSeries {
  const { job, instance, ...rest } = labels;
  const device =
    metric === gpu.info
      ? deviceFromLabels(rest)
      : unidentifiedDevice(labels["uuid"] ?? "", labels["gpu"]);
  return {
    exporter: ownExporter,
    origin: { job, instance },
    host: labels["host"] ?? hostOf(instance),
    device: device ?? unidentifiedDevice(labels["uuid"] ?? "", labels["gpu"]),
    owner: undefined,
    reading: { metric, labels: labelSet(rest), read: undefined, zeroIsAbsent: false },
  };
}

function deviceOf(about: ExporterGpu, exporter: string, host: string): Device {
  const vendor = about.vendor ?? "unknown";
  const uuid = about.uuid ?? fallbackUuid(vendor, `${exporter}-${about.place ?? "0"}`, host);
  return {
    ...unidentifiedDevice(uuid, about.index),
    vendor,
    model: about.model ?? "unknown",
    simulated: about.simulated === true,
    driver: about.driver,
    vbios: about.vbios,
    pciBusId: about.pciBusId,
    parent: about.parent,
  };
}

/** The machine that `instance` names: without the port. */
export function hostOf(instance: string | undefined): string {
  if (instance === undefined) return "unknown";
  const bracketed = /^\[(.*)\](:\d+)?$/.exec(instance)?.[1];
  return bracketed ?? instance.replace(/:\d+$/, "");
}

/** Labels with dots, as a store of UTF-8 names holds them, are read like those with underscores. */
const withoutDots = (labels: ExporterLabels): ExporterLabels =>
  Object.fromEntries(
    Object.entries(labels).map(([name, value]) => [name.replaceAll(".", "_"), value]),
  );

function matches(labels: ExporterLabels, when: Match = {}): boolean {
  return Object.entries(when).every(([name, wanted]) => {
    const value = labels[name] ?? "";
    return typeof wanted === "string" ? value === wanted : wanted.includes(value);
  });
}

function copied(
  labels: ExporterLabels,
  copy: ExporterMetric["copy"] = {},
): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(copy).map(([ours, theirs]) => [ours, labels[theirs]]));
}
