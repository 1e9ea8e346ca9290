/**
 * Translates another exporter's series to one of ours: the metric, its labels, the GPU and the conversion, once per series. A
 * series in no table does not belong to a GPU; a series with one of our own names passes unchanged.
 */
import { catalogue, gpu, type MetricEntry } from "../../model/catalogue/index.ts";
import {
  type Device,
  deviceFromLabels,
  deviceLabels,
  fallbackUuid,
  unidentifiedDevice,
} from "../../model/device.ts";
import { type LabelSet, labelSet } from "../../model/labels.ts";
import type { SampleSuffix } from "../../model/layout.ts";
import type { GpuOwner, Match } from "../compat/row.ts";
import { exporterNames } from "./list.ts";
import { type ExporterGpu, type ExporterLabels, type ExporterMetric, neverZero } from "./table.ts";

/** The labels that a scrape or a sender adds to every series. */
export interface SeriesOrigin {
  readonly job: string | undefined;
  readonly instance: string | undefined;
}

export interface TranslatedSeries {
  /** `gpulse` for our own names. */
  readonly exporter: string;
  readonly origin: SeriesOrigin;
  readonly host: string;
  /** Absent for one of our own host series. */
  readonly device: Device | undefined;
  readonly owner: GpuOwner | undefined;
  /** Absent for a series that only describes the GPU. */
  readonly reading:
    | {
        readonly metric: MetricEntry;
        readonly labels: LabelSet;
        readonly suffix?: SampleSuffix | undefined;
        readonly read: ExporterMetric["read"];
        readonly zeroIsAbsent: boolean;
        readonly isLastXid?: true | undefined;
      }
    | undefined;
}

export const ownExporter = "gpulse";

/** Our own GPU metric names, for selecting the series of a gpulse agent. */
export const ownGpuNames: readonly string[] = catalogue
  .filter(({ subject, kind }) => subject === "device" && kind !== "histogram")
  .map(({ name }) => name);

const histogramSuffixes = ["_bucket", "_sum", "_count"] as const;

/** Our own names that a pushed frame may contain, with their metric: those of GPUs, hosts and the work on them. */
const ownSeriesNames: ReadonlyMap<
  string,
  { readonly metric: MetricEntry; readonly suffix: SampleSuffix }
> = new Map(
  catalogue
    .filter(({ subject }) => subject !== "self")
    .flatMap((metric) =>
      (metric.kind === "histogram" ? histogramSuffixes : ([""] as const)).map(
        (suffix) => [`${metric.name}${suffix}`, { metric, suffix }] as const,
      ),
    ),
);

export const ownNames: readonly string[] = [...ownSeriesNames.keys()];

export function translateSeries(
  name: string,
  labels: ExporterLabels,
): TranslatedSeries | undefined {
  const own = ownSeriesNames.get(name);
  if (own !== undefined && labels[own.metric.subject === "device" ? "uuid" : "host"] !== undefined)
    return ownSeries(own.metric, own.suffix, labels);
  const dotless = withoutDots(labels);
  for (const { table, metrics } of exporterNames.get(name) ?? []) {
    const plain = table.readLabels?.(dotless) ?? dotless;
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
        zeroIsAbsent: found.zeroIsAbsent === true || neverZero.has(found.metric),
        isLastXid: found.isLastXid,
      },
    };
  }
  return undefined;
}

function ownSeries(
  metric: MetricEntry,
  suffix: SampleSuffix,
  labels: ExporterLabels,
): TranslatedSeries {
  const { job, instance, ...rest } = labels;
  const { uuid } = labels;
  const described = metric === gpu.info ? deviceFromLabels(rest) : undefined;
  return {
    exporter: ownExporter,
    origin: { job, instance },
    host: labels["host"] ?? hostOf(instance),
    device:
      uuid === undefined || metric.subject !== "device"
        ? undefined
        : (described ?? unidentifiedDevice(uuid, labels["gpu"])),
    owner: undefined,
    reading: { metric, labels: labelSet(rest), suffix, read: undefined, zeroIsAbsent: false },
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

/** The host in `instance`, without the port. */
export function hostOf(instance: string | undefined): string {
  if (instance === undefined) return "unknown";
  const bracketed = /^\[(.*)\](:\d+)?$/.exec(instance)?.[1];
  return bracketed ?? instance.replace(/:\d+$/, "");
}

/** Reads labels with dots, which a store with UTF-8 names may have, like those with underscores. */
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
