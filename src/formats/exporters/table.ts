/** The shape of a table that reads another exporter's series: which of our metrics each one is, and which GPU its labels describe. */
import { gpu, type MetricEntry } from "../../model/catalogue/index.ts";
import type { GpuOwner, Match } from "../compat/row.ts";

export type ExporterLabels = Readonly<Record<string, string | undefined>>;

/** What the labels of one series say about its GPU. */
export interface ExporterGpu {
  /** The device's own; absent where the exporter does not give one. */
  readonly uuid?: string | undefined;
  /** What distinguishes it from the other GPUs of its host where it has no uuid: PCI address or index. */
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

/** One of our metrics that a series of theirs is. */
export interface ExporterMetric {
  readonly metric: MetricEntry;
  /** Labels that their series must carry. */
  readonly when?: Match | undefined;
  /** Labels of ours with a value of their own. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Our label, taken from theirs. */
  readonly copy?: Readonly<Record<string, string>> | undefined;
  /** From their unit to ours; undefined for a value that means nothing. The same value where absent. */
  readonly read?: ((value: number) => number | undefined) | undefined;
  /** Written as 0 where the card does not have it, so that a 0 is no reading; also what `neverZero` has. */
  readonly zeroIsAbsent?: true | undefined;
  /** The number of the last XID error, 0 for none: another number is another error. */
  readonly isLastXid?: true | undefined;
}

/**
 * A GPU that is on has none of these at 0. Exporters fill in 0 for what the library does not report, such as the edge
 * temperature of an MI300X, memory temperature of cards without the sensor, or the power of a virtual GPU.
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
  /** The program whose names these are. */
  readonly exporter: string;
  readonly metrics: ReadonlyMap<string, readonly ExporterMetric[]>;
  /** Series that carry no reading, whose labels describe the GPU. */
  readonly infoNames?: readonly string[] | undefined;
  /** A series of its page whose label `version` is the program's own. */
  readonly buildInfo?: string | undefined;
  /** Labels of other versions as the present one writes them. */
  readonly readLabels?: ((labels: ExporterLabels) => ExporterLabels) | undefined;
  /** Undefined where the labels are not this exporter's: two programs may use one name. Label names have no dots. */
  identify(labels: ExporterLabels): ExporterGpu | undefined;
  /** What `gpulse doctor` advises where a metric is missing: our metric's name, and the setting that enables it. */
  readonly advice?: readonly (readonly [metric: MetricEntry, setting: string])[] | undefined;
}

/** An entry for `metricsOf`: a metric of ours, its labels, and the conversion. */
export const is = (
  metric: MetricEntry,
  labels: Readonly<Record<string, string>> = {},
  read?: ExporterMetric["read"],
): ExporterMetric => ({ metric, labels, read });

/** A table from pairs of their name and what it is. */
export function metricsOf(
  pairs: readonly (readonly [name: string, metric: ExporterMetric])[],
): ReadonlyMap<string, readonly ExporterMetric[]> {
  const metrics = new Map<string, ExporterMetric[]>();
  for (const [name, metric] of pairs) metrics.set(name, [...(metrics.get(name) ?? []), metric]);
  return metrics;
}

/**
 * A pod as the labels name it. A scrape without `honor_labels` renames the exporter's own labels to `exported_…` where the
 * target has them too: then those are the owner's, and the plain ones are the exporter's pod.
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
