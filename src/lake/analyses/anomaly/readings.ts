/**
 * Extracts the detectors' readings from a frame, per device. A layout is planned once; a missing reading stays missing and is
 * never the last value.
 */
import { gpu, type MetricEntry } from "../../../model/catalogue/index.ts";
import { deviceKey } from "../../../model/device.ts";
import type { Frame } from "../../../model/frame.ts";
import { type LabelSet, labelValue } from "../../../model/labels.ts";
import type { Layout, Series } from "../../../model/layout.ts";
import { presence } from "../../../model/presence.ts";

const fields = [
  "powerWatts",
  "utilization",
  "memoryUtilization",
  "memoryBytes",
  "edgeCelsius",
  "hotspotCelsius",
  "clockHertz",
  "smHertz",
  "fanRatio",
  "powerCapped",
  "heatThrottled",
  "powerLimitWatts",
  "memoryTotalBytes",
  "linkGeneration",
  "linkWidth",
] as const;
export type AnomalyField = (typeof fields)[number];

const fieldAt = Object.fromEntries(fields.map((field, at) => [field, at])) as Record<
  AnomalyField,
  number
>;

/** The newest readings of one device across all schedules. */
export class Readings {
  readonly #values = new Float64Array(fields.length);
  readonly #there = new Uint8Array(fields.length);
  /** The job, pod or user that holds the GPU; undefined if there is none or none is reported. */
  owner: string | undefined;
  model = "";

  get(field: AnomalyField): number | undefined {
    const at = fieldAt[field];
    return this.#there[at] === 1 ? this.#values[at] : undefined;
  }

  /** Of several series for one field (fans, reasons) the highest value is used. */
  take(frame: Frame, { slots, owners, tellsOwner, model }: PlannedDevice): void {
    for (let at = 0; at < slots.length; at += 2) this.#there[slots[at] as number] = 0;
    for (let at = 0; at < slots.length; at += 2) {
      const field = slots[at] as number;
      const slot = slots[at + 1] as number;
      if (frame.presence[slot] !== presence.present) continue;
      const value = frame.values[slot] as number;
      this.#values[field] =
        this.#there[field] === 1 ? Math.max(this.#values[field] as number, value) : value;
      this.#there[field] = 1;
    }
    if (tellsOwner) this.owner = ownerIn(frame, owners);
    if (model !== undefined) this.model = model;
  }
}

interface Owner {
  readonly name: string;
  readonly slot: number;
}

export interface PlannedDevice {
  /** `deviceKey` of its host and uuid. */
  readonly key: string;
  readonly uuid: string;
  readonly gpu: string;
  readonly host: string;
  /** The host of another machine's readings; local readings have none. */
  readonly job: string | undefined;
  readonly instance: string | undefined;
  /** Pairs of field and slot. */
  readonly slots: Int32Array;
  /** Owners by name; the layout may also contain past and future ones. */
  readonly owners: readonly Owner[];
  /** True if this schedule reports owners. */
  readonly tellsOwner: boolean;
  readonly model: string | undefined;
  /** True if a frame of this layout triggers the detectors. */
  readonly beats: boolean;
}

export class AnomalyLayoutPlans {
  readonly #plans = new WeakMap<Layout, readonly PlannedDevice[]>();

  of(layout: Layout): readonly PlannedDevice[] {
    let plan = this.#plans.get(layout);
    if (plan === undefined) this.#plans.set(layout, (plan = planLayout(layout)));
    return plan;
  }
}

interface DevicePlanBuilder {
  readonly labels: LabelSet;
  readonly slots: number[];
  readonly owners: Owner[];
  tellsOwner: boolean;
  model: string | undefined;
  beats: boolean;
}

function planLayout({ series }: Layout): readonly PlannedDevice[] {
  const drafts = new Map<string, DevicePlanBuilder>();
  series.forEach((one, slot) => {
    const { metric, labels } = one;
    const uuid = metric.subject === "device" ? labelValue(labels, "uuid") : undefined;
    if (uuid === undefined) return;
    const key = deviceKey(labelValue(labels, "host") ?? "", uuid);
    let draft = drafts.get(key);
    if (draft === undefined) {
      draft = {
        labels,
        slots: [],
        owners: [],
        tellsOwner: false,
        model: undefined,
        beats: false,
      };
      drafts.set(key, draft);
    }
    const field = fieldOf(one);
    if (field !== undefined) draft.slots.push(fieldAt[field], slot);
    if (metric === gpu.power) draft.beats = true;
    // Owners are on the slow schedule, together with readings that are always present.
    if (metric === gpu.powerLimit) draft.tellsOwner = true;
    if (metric === gpu.info) draft.model = labelValue(labels, "model");
    if (metric === gpu.ownerInfo) {
      draft.tellsOwner = true;
      draft.owners.push({ name: ownerOf(labels), slot });
    }
  });
  return [...drafts].map(([key, draft]) => ({
    key,
    uuid: labelValue(draft.labels, "uuid") ?? "",
    gpu: labelValue(draft.labels, "gpu") ?? "",
    host: labelValue(draft.labels, "host") ?? "",
    slots: Int32Array.from(draft.slots),
    job: labelValue(draft.labels, "job"),
    instance: labelValue(draft.labels, "instance"),
    owners: draft.owners.sort((left, right) => (left.name < right.name ? -1 : 1)),
    tellsOwner: draft.tellsOwner,
    model: draft.model,
    beats: draft.beats,
  }));
}

/** Several owners that share the GPU count as one. */
function ownerIn(frame: Frame, owners: readonly Owner[]): string | undefined {
  let names: string | undefined;
  for (const { name, slot } of owners)
    if (frame.presence[slot] === presence.present)
      names = names === undefined ? name : `${names}\n${name}`;
  return names;
}

/** Workload before pod before user: the closest to one run of one program. */
export function ownerOf(labels: LabelSet): string {
  const namespace = labelValue(labels, "namespace");
  const name =
    labelValue(labels, "workload") ?? labelValue(labels, "pod") ?? labelValue(labels, "user") ?? "";
  return namespace === undefined ? name : `${namespace}/${name}`;
}

const plain = new Map<MetricEntry, AnomalyField>([
  [gpu.power, "powerWatts"],
  [gpu.utilization, "utilization"],
  [gpu.memoryControllerUtilization, "memoryUtilization"],
  [gpu.memoryUsed, "memoryBytes"],
  [gpu.fanSpeed, "fanRatio"],
  [gpu.powerLimit, "powerLimitWatts"],
  [gpu.memoryTotal, "memoryTotalBytes"],
  [gpu.pcieLinkGeneration, "linkGeneration"],
  [gpu.pcieLinkWidth, "linkWidth"],
]);

/** All metrics that the watch reads, for querying a history. */
export const metricNames: readonly string[] = [
  ...plain.keys(),
  gpu.temperature,
  gpu.clock,
  gpu.throttleActive,
  gpu.info,
  gpu.ownerInfo,
].map(({ name }) => name);

function fieldOf({ metric, labels }: Series): AnomalyField | undefined {
  const label = (name: string): string | undefined => labelValue(labels, name);
  switch (metric) {
    case gpu.temperature:
      if (label("sensor") === "edge") return "edgeCelsius";
      return label("sensor") === "hotspot" ? "hotspotCelsius" : undefined;
    case gpu.clock:
      if (label("domain") === "graphics") return "clockHertz";
      return label("domain") === "sm" ? "smHertz" : undefined;
    case gpu.throttleActive:
      if (label("reason") === "power_cap") return "powerCapped";
      return label("reason")?.startsWith("thermal") === true ? "heatThrottled" : undefined;
    default:
      return plain.get(metric);
  }
}
