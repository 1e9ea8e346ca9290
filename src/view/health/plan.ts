/** Maps the slots of a layout to GPUs and machines, computed once per layout. */
import { gpu } from "../../model/catalogue/index.ts";
import { deviceKey } from "../../model/device.ts";
import { labelValue } from "../../model/labels.ts";
import type { Layout, Series } from "../../model/layout.ts";
import { type PlannedInput, planInputs } from "./inputs.ts";

interface PlannedXid {
  readonly xid: string;
  readonly slot: number;
  /** Slot of the time of the last occurrence; -1 if it is not reported. */
  readonly lastSlot: number;
}

export interface VerdictSlot {
  readonly slot: number;
  readonly series: Series;
}

export interface HealthGpuPlan {
  readonly host: string;
  readonly uuid: string;
  readonly gpu: string | undefined;
  readonly inputs: readonly PlannedInput[];
  readonly xids: readonly PlannedXid[];
  readonly owners: readonly { readonly slot: number; readonly name: string }[];
  readonly info: Readonly<Record<string, string>> | undefined;
  /** True if this layout contains the GPU's verdict: then its reasons are complete. */
  readonly hasVerdict: boolean;
  readonly verdictSlots: readonly VerdictSlot[];
}

interface PlannedHost {
  readonly host: string;
  readonly inputs: readonly PlannedInput[];
}

export interface PlannedLayout {
  readonly gpus: readonly HealthGpuPlan[];
  readonly hosts: readonly PlannedHost[];
}

export function planLayout(layout: Layout): PlannedLayout {
  const slotsOf = new Map<string, number[]>();
  const hostSlots = new Map<string, number[]>();
  layout.series.forEach(({ metric, labels }, slot) => {
    const host = labelValue(labels, "host");
    const uuid = labelValue(labels, "uuid");
    if (host === undefined) return;
    const isGpu = metric.subject === "device" && uuid !== undefined;
    if (!isGpu && metric.subject !== "host") return;
    const [map, key] = isGpu ? [slotsOf, deviceKey(host, uuid)] : [hostSlots, host];
    const slots = map.get(key);
    if (slots === undefined) map.set(key, [slot]);
    else slots.push(slot);
  });
  return {
    gpus: [...slotsOf.values()].map((slots) => planGpu(layout, slots)),
    hosts: [...hostSlots].flatMap(([host, slots]) => {
      const inputs = planInputs(layout, slots);
      return inputs.length === 0 ? [] : [{ host, inputs }];
    }),
  };
}

function planGpu(layout: Layout, slots: readonly number[]): HealthGpuPlan {
  const own = slots.flatMap((slot) => {
    const series = layout.series[slot];
    return series === undefined ? [] : [{ slot, series }];
  });
  const label = ({ series }: VerdictSlot, name: string): string | undefined =>
    labelValue(series.labels, name);
  const of = (metric: Series["metric"]): readonly VerdictSlot[] =>
    own.filter(({ series }) => series.metric === metric);
  const last = of(gpu.xidLast);
  const [first] = own;
  const [info] = of(gpu.info);
  return {
    host: (first && label(first, "host")) ?? "",
    uuid: (first && label(first, "uuid")) ?? "",
    gpu: first && label(first, "gpu"),
    inputs: planInputs(layout, slots),
    xids: of(gpu.xidErrors).map((one) => ({
      xid: label(one, "xid") ?? "",
      slot: one.slot,
      lastSlot: last.find((other) => label(other, "xid") === label(one, "xid"))?.slot ?? -1,
    })),
    owners: of(gpu.ownerInfo).flatMap((one) => {
      // Not the job: a user who starts a faulty program repeatedly counts as one application.
      const name = label(one, "user") ?? label(one, "namespace");
      return name === undefined ? [] : [{ slot: one.slot, name }];
    }),
    info: info && Object.fromEntries(info.series.labels),
    hasVerdict: of(gpu.healthState).length > 0,
    verdictSlots: [...of(gpu.healthReason), ...of(gpu.healthUnchecked)],
  };
}
