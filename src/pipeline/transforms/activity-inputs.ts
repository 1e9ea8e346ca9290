/** The readings of a GPU from which its FLOP/s estimates and its bound are derived, and their slots in a layout. Pure. */
import { gpu, type MetricEntry } from "../../model/catalogue/index.ts";
import { type LabelSet, labelValue } from "../../model/labels.ts";

/** A `fact` keeps its last value until it is read again; a `share` is averaged. */
type InputKind = "share" | "fact";

export interface InputSpec {
  readonly kind: InputKind;
  readonly metric: MetricEntry;
  /** Restricts the input to series whose label has one of these values. */
  readonly label?: LabelFilter;
  /** True to add up several series of one frame; by default the highest counts. */
  readonly sums?: true;
}

type LabelFilter = readonly [name: string, ...values: string[]];

const share = (metric: MetricEntry, label?: LabelFilter): InputSpec => ({
  kind: "share",
  metric,
  ...(label === undefined ? {} : { label }),
});
const fact = (metric: MetricEntry, label?: LabelFilter): InputSpec => ({
  ...share(metric, label),
  kind: "fact",
});

export const inputs = {
  utilization: share(gpu.utilization),
  memoryController: share(gpu.memoryControllerUtilization),
  clockSm: share(gpu.clock, ["domain", "sm"]),
  clockGraphics: share(gpu.clock, ["domain", "graphics"]),
  clockMeanSm: share(gpu.clockMean, ["domain", "sm"]),
  powerCapped: share(gpu.throttleActive, ["reason", "power_cap", "power_brake", "current"]),
  thermallyCapped: share(gpu.throttleActive, ["reason", "thermal", "thermal_hardware"]),
  die: share(gpu.dieActivity),
  graphics: share(gpu.graphicsActivity),
  sm: share(gpu.smActivity),
  tensor: share(gpu.tensorActivity),
  tensorHalf: share(gpu.tensorPipeActivity, ["pipe", "half"]),
  tensorFp64: share(gpu.tensorPipeActivity, ["pipe", "fp64"]),
  tensorInt8: share(gpu.tensorPipeActivity, ["pipe", "int8"]),
  dram: share(gpu.dramActivity),
  fp64: share(gpu.fp64Activity),
  fp32: share(gpu.fp32Activity),
  fp16: share(gpu.fp16Activity),
  integer: share(gpu.integerActivity),
  pcie: share(gpu.pcieThroughput),
  interconnect: share(gpu.interconnectThroughput),
  partitions: fact(gpu.partitions),
  pcieGeneration: fact(gpu.pcieLinkGeneration),
  pcieWidth: fact(gpu.pcieLinkWidth),
  interconnectBandwidth: { ...fact(gpu.interconnectBandwidth), sums: true },
  clockMaxSm: fact(gpu.clockMax, ["domain", "sm"]),
  clockMaxGraphics: fact(gpu.clockMax, ["domain", "graphics"]),
} as const satisfies Record<string, InputSpec>;

export type InputName = keyof typeof inputs;
export const inputNames = Object.keys(inputs) as readonly InputName[];

/** The slots of a layout that hold each input. */
export type InputSlots = ReadonlyMap<InputName, readonly number[]>;

const byMetric = new Map<MetricEntry, InputName[]>();
for (const name of inputNames) {
  const { metric } = inputs[name];
  byMetric.set(metric, [...(byMetric.get(metric) ?? []), name]);
}

/** Returns the input to which a series with this metric and these labels belongs. */
export function inputOf(metric: MetricEntry, labels: LabelSet): InputName | undefined {
  return byMetric.get(metric)?.find((name) => {
    const { label }: InputSpec = inputs[name];
    if (label === undefined) return true;
    const [labelName, ...values] = label;
    return values.includes(labelValue(labels, labelName) ?? "");
  });
}
