/**
 * Selects the slots of a layout that the page needs, once per layout: two thousand GPUs have about eighty thousand series, too many
 * to match by label every second.
 */
import { type BoundWord, boundWords } from "../../model/bound.ts";
import { gpu } from "../../model/catalogue/index.ts";
import { deviceKey } from "../../model/device.ts";
import { type LabelSet, labelValue } from "../../model/labels.ts";
import type { Layout, Series } from "../../model/layout.ts";
import { type ReadingSpec, readingSpecs } from "./columns.ts";
import { columnKeys, type HistoryKey, historyKeys } from "./protocol.ts";

export type SlotTarget =
  | { readonly kind: "reading"; readonly at: number }
  | { readonly kind: "part"; readonly at: number; readonly part: string }
  | { readonly kind: "throttle"; readonly reason: string }
  | { readonly kind: "bound"; readonly word: BoundWord | undefined }
  | { readonly kind: "owner"; readonly job: string | undefined; readonly user: string | undefined }
  | { readonly kind: "xid-count"; readonly xid: string }
  | { readonly kind: "xid-last"; readonly xid: string }
  | { readonly kind: "other" };

export interface PlannedSlot {
  readonly slot: number;
  readonly uuid: string;
  readonly series: Series;
  readonly target: SlotTarget;
}

const specsByMetric = new Map<string, { spec: ReadingSpec; at: number }[]>();
readingSpecs.forEach((first, at) => {
  for (let spec: ReadingSpec | undefined = first; spec !== undefined; spec = spec.or) {
    const list = specsByMetric.get(spec.metric.name) ?? [];
    list.push({ spec, at });
    specsByMetric.set(spec.metric.name, list);
  }
});

const plans = new WeakMap<Layout, readonly PlannedSlot[]>();

/** Returns the slots of device series. A layout never changes, so its plan is cached as long as the layout lives. */
export function planLayout(layout: Layout): readonly PlannedSlot[] {
  const kept = plans.get(layout);
  if (kept !== undefined) return kept;
  const plan: PlannedSlot[] = [];
  layout.series.forEach((series, slot) => {
    const uuid = labelValue(series.labels, "uuid");
    if (series.metric.subject !== "device" || uuid === undefined) return;
    plan.push({ slot, uuid, series, target: targetOf(series) });
  });
  plans.set(layout, plan);
  return plan;
}

/** The slots of one device that its curves are drawn from. */
export interface CurveSlots {
  /** `deviceKey` of the host and the device. */
  readonly device: string;
  readonly slots: readonly { readonly slot: number; readonly key: HistoryKey }[];
}

const curvePlans = new WeakMap<Layout, { host: string; plan: readonly CurveSlots[] }>();

/** Returns the devices of a layout that have readings with a curve; cached like `planLayout`, for one host. */
export function planCurves(layout: Layout, host: string): readonly CurveSlots[] {
  const kept = curvePlans.get(layout);
  if (kept?.host === host) return kept.plan;
  const byUuid = new Map<string, { slot: number; key: HistoryKey }[]>();
  for (const { uuid, slot, target } of planLayout(layout)) {
    const column = target.kind === "reading" ? columnKeys[target.at] : undefined;
    const key = historyKeys.find((one) => one === column);
    if (key === undefined) continue;
    const slots = byUuid.get(uuid) ?? [];
    byUuid.set(uuid, slots);
    slots.push({ slot, key });
  }
  const plan = [...byUuid].map(([uuid, slots]) => ({ device: deviceKey(host, uuid), slots }));
  curvePlans.set(layout, { host, plan });
  return plan;
}

function targetOf({ metric, labels }: Series): SlotTarget {
  const spec = specsByMetric
    .get(metric.name)
    ?.find(({ spec: wanted }) => carries(labels, wanted.labels));
  const label = (name: string): string | undefined => labelValue(labels, name);
  if (spec !== undefined) {
    const { sumOver } = spec.spec;
    if (sumOver !== undefined) return { kind: "part", at: spec.at, part: label(sumOver) ?? "" };
    return { kind: "reading", at: spec.at };
  }
  if (metric === gpu.throttleActive)
    return { kind: "throttle", reason: label("reason") ?? "unknown" };
  if (metric === gpu.bound)
    return { kind: "bound", word: boundWords.find((word) => word === label("by")) };
  if (metric === gpu.ownerInfo) {
    return {
      kind: "owner",
      job: label("workload") ?? label("pod") ?? label("container"),
      user: label("user"),
    };
  }
  if (metric === gpu.xidErrors) return { kind: "xid-count", xid: label("xid") ?? "?" };
  if (metric === gpu.xidLast) return { kind: "xid-last", xid: label("xid") ?? "?" };
  return { kind: "other" };
}

const carries = (labels: LabelSet, wanted: Readonly<Record<string, string>>): boolean =>
  Object.entries(wanted).every(([name, value]) => labelValue(labels, name) === value);
