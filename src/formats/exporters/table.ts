/**
 * The type of a table that reads another exporter's series: which of our metrics each series is, and which GPU its labels describe.
 */
import { gpu, type MetricEntry } from "../../model/catalogue/index.ts";
import type { GpuOwner, Match } from "../compat/row.ts";

export type ExporterLabels = Readonly<Record<string, string | undefined>>;

/** The GPU that the labels of one series describe. */
export interface ExporterGpu {
  /** The device's own uuid; absent if the exporter does not provide one. */
  readonly uuid?: string | undefined;
  /** Distinguishes a GPU without a uuid from the others of its host: PCI address or index. */
  readonly place?: string | undefined;
  readonly index?: string | undefined;
  readonly vendor?: string | undefined;
  readonly model?: string | undefined;
  readonly driver?: string | undefined;
  readonly vbios?: string | undefined;
  readonly pciBusId?: string | undefined;
  /** uuid of the GPU this is an instance of. */
  readonly parent?: string | undefined;
  readonly host?: string | undefined;
  readonly owner?: GpuOwner | undefined;
  readonly simulated?: boolean | undefined;
}

/** One of our metrics that their series maps to. */
export interface ExporterMetric {
  readonly metric: MetricEntry;
  /** Labels that their series must have. */
  readonly when?: Match | undefined;
  /** Labels of our series with a fixed value. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Our label, copied from theirs. */
  readonly copy?: Readonly<Record<string, string>> | undefined;
  /** Converts their unit to ours; undefined for a meaningless value. The units are the same if absent. */
  readonly read?: ((value: number) => number | undefined) | undefined;
  /** The exporter writes 0 if the card does not have the value, so a 0 is no reading; applies to `neverZero` too. */
  readonly zeroIsAbsent?: true | undefined;
  /** The number of the last XID error, 0 for none: a different number is a new error. */
  readonly isLastXid?: true | undefined;
}

/**
 * None of these is 0 on a running GPU. Exporters write 0 for values that the library does not report, such as the edge temperature
 * of an MI300X, memory temperature of cards without the sensor, or the power of a virtual GPU.
 */
export const neverZero: ReadonlySet<MetricEntry> = new Set([
  gpu.temperature,
  gpu.temperatureLimit,
  gpu.power,
  gpu.powerInstant,
  gpu.powerAverage,
  gpu.powerLimit,
  gpu.powerLimitMin,
  gpu.powerLimitMax,
  gpu.powerLimitDefault,
  gpu.energy,
  gpu.voltage,
  gpu.clockMax,
  gpu.memoryTotal,
  gpu.pcieLinkGeneration,
  gpu.pcieLinkGenerationMax,
  gpu.pcieLinkWidth,
  gpu.pcieLinkWidthMax,
]);

export interface ExporterTable {
  readonly name: string;
  /** The program that defined these names. */
  readonly exporter: string;
  readonly metrics: ReadonlyMap<string, readonly ExporterMetric[]>;
  /** Series without a reading, whose labels describe the GPU. */
  readonly infoNames?: readonly string[] | undefined;
  /** A series of its page whose `version` label is the exporter's own version. */
  readonly buildInfo?: string | undefined;
  /** Renames labels of other versions to those of the current one. */
  readonly readLabels?: ((labels: ExporterLabels) => ExporterLabels) | undefined;
  /** Undefined if the labels are not this exporter's: two programs may use the same name. Label names have no dots. */
  identify(labels: ExporterLabels): ExporterGpu | undefined;
  /** Advice of `gpulse doctor` for missing metrics: our metric, and the setting that enables it. */
  readonly advice?: readonly (readonly [metric: MetricEntry, setting: string])[] | undefined;
}

/** An entry for `metricsOf`: our metric, its labels, and the conversion. */
export const is = (
  metric: MetricEntry,
  labels: Readonly<Record<string, string>> = {},
  read?: ExporterMetric["read"],
): ExporterMetric => ({ metric, labels, read });

/** Builds a table from pairs of their name and our metric. */
export function metricsOf(
  pairs: readonly (readonly [name: string, metric: ExporterMetric])[],
): ReadonlyMap<string, readonly ExporterMetric[]> {
  const metrics = new Map<string, ExporterMetric[]>();
  for (const [name, metric] of pairs) metrics.set(name, [...(metrics.get(name) ?? []), metric]);
  return metrics;
}

/**
 * The owner from pod labels. A scrape without `honor_labels` renames the exporter's own labels to `exported_…` if the target has
 * them too: then those are the owner's, and the plain ones belong to the exporter's pod.
 */
export function ownerFromPodLabels(labels: ExporterLabels): GpuOwner | undefined {
  const of = (name: string): string | undefined => labels[`exported_${name}`];
  const isRenamed = ["pod", "namespace", "container"].some((name) => of(name) !== undefined);
  const pick = (name: string): string | undefined => (isRenamed ? of(name) : labels[name]);
  const owner = { namespace: pick("namespace"), pod: pick("pod"), container: pick("container") };
  return Object.values(owner).some((value) => value !== undefined && value !== "")
    ? owner
    : undefined;
}
