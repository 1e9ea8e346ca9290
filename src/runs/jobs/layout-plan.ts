/**
 * Maps a layout's slots to the readings of its GPUs. Computed once per layout; a machine whose processes change has a new layout
 * each time, so this has to be fast.
 */
import { gpu as metrics, type MetricEntry } from "../../model/catalogue/index.ts";
import { type LabelSet, labelValue } from "../../model/labels.ts";
import type { Layout } from "../../model/layout.ts";
import type { OwnerLabels } from "../../machine/owners/gpu-owners.ts";
import { column, plainColumns } from "./gpu-rows.ts";

/** Slow-tier metrics that gpulse derives and sends in separate frames. */
const derived = /^gpu_(health|check|anomaly|temperature_at_load)/;

/** Metrics whose value is stored unchanged, with the column of each. */
const plainMetrics: ReadonlyMap<MetricEntry, number> = new Map<MetricEntry, number>([
  [metrics.energy, column.hardwareJoules],
  [metrics.energyIntegrated, column.integratedJoules],
  [metrics.smActivity, column.smRatio],
  [metrics.tensorActivity, column.tensorRatio],
  [metrics.dramActivity, column.dramRatio],
  [metrics.memoryUsed, column.memoryBytes],
]);

export interface PlannedOwner {
  labels: OwnerLabels;
  infoSlot: number;
  memorySlot: number;
  utilizationSlot: number;
}

export interface JobGpuPlan {
  readonly uuid: string;
  readonly host: string;
  readonly gpu: number;
  /** The slot of each plain column, -1 if the layout has none. */
  readonly plainSlots: number[];
  readonly throttleSlots: number[];
  readonly throttleReasons: string[];
  readonly xids: { readonly slot: number; readonly xid: string }[];
  readonly owners: PlannedOwner[];
  utilization: number;
  processes: number;
  /** True if it has readings of the slow tier, so that the owners of this frame are complete. */
  isSlow: boolean;
}

/** How the ledger uses a series; `markSlow` only shows that the frame is of the slow tier, undefined means not at all. */
type SeriesUse = (planned: JobGpuPlan, labels: LabelSet, slot: number) => void;

const special: ReadonlyMap<MetricEntry, SeriesUse> = new Map<MetricEntry, SeriesUse>([
  [metrics.utilization, (planned, _, slot) => void (planned.utilization = slot)],
  [metrics.processes, (planned, _, slot) => void (planned.processes = slot)],
  [
    metrics.throttleSeconds,
    ({ throttleSlots, throttleReasons }, labels, slot) => {
      throttleSlots.push(slot);
      throttleReasons.push(labelValue(labels, "reason") ?? "");
    },
  ],
  [
    metrics.xidErrors,
    ({ xids }, labels, slot) => void xids.push({ slot, xid: labelValue(labels, "xid") ?? "" }),
  ],
  [metrics.ownerInfo, (planned, labels, slot) => void (ownerIn(planned, labels).infoSlot = slot)],
  [
    metrics.ownerMemory,
    (planned, labels, slot) => void (ownerIn(planned, labels).memorySlot = slot),
  ],
  [
    metrics.ownerUtilization,
    (planned, labels, slot) => void (ownerIn(planned, labels).utilizationSlot = slot),
  ],
]);

/** A cache: undefined for unused metrics; metric entries never change. */
const uses = new Map<MetricEntry, SeriesUse | undefined>();

function useOf(metric: MetricEntry): SeriesUse | undefined {
  const known = uses.get(metric);
  if (known !== undefined || uses.has(metric)) return known;
  const use = metric.subject === "device" ? makeUse(metric) : undefined;
  uses.set(metric, use);
  return use;
}

/** Applies to most series of a slow layout. */
const markSlow: SeriesUse = (planned) => void (planned.isSlow = true);

function makeUse(metric: MetricEntry): SeriesUse | undefined {
  const isSlow = metric.tier === "slow" && !derived.test(metric.name);
  const at = plainMetrics.get(metric);
  const use =
    at === undefined
      ? special.get(metric)
      : ({ plainSlots }: JobGpuPlan, _: LabelSet, slot: number) => {
          plainSlots[at] = slot;
        };
  if (!isSlow) return use;
  if (use === undefined) return markSlow;
  return (planned, labels, slot) => {
    planned.isSlow = true;
    use(planned, labels, slot);
  };
}

export function planLayout({ series }: Layout): readonly JobGpuPlan[] {
  const gpus: JobGpuPlan[] = [];
  let planned: JobGpuPlan | undefined;
  // Nearly all series of a layout have these labels at the same positions.
  let [uuidAt, hostAt] = [0, 0];
  for (let slot = 0; slot < series.length; slot++) {
    const one = series[slot];
    const use = one && useOf(one.metric);
    if (one === undefined || use === undefined) continue;
    const { labels } = one;
    if (use === markSlow && planned?.isSlow === true && labels[uuidAt]?.[1] === planned.uuid)
      continue;
    uuidAt = indexOf(labels, "uuid", uuidAt);
    hostAt = indexOf(labels, "host", hostAt);
    const uuid = labels[uuidAt]?.[1];
    if (uuid === undefined) continue;
    const host = labels[hostAt]?.[1] ?? "";
    // Series of one GPU are usually adjacent, or each metric has the GPUs in the same order.
    if (planned?.uuid !== uuid || planned.host !== host)
      planned = gpus.find((gpu) => gpu.uuid === uuid && gpu.host === host);
    if (planned === undefined) {
      const index = Number(labelValue(labels, "gpu") ?? 0);
      gpus.push((planned = emptyPlan(uuid, host, Number.isInteger(index) ? index : 0)));
    }
    use(planned, labels, slot);
  }
  return gpus.filter(isOfUse);
}

/** Returns the length if there is no such label. */
function indexOf(labels: LabelSet, name: string, likely: number): number {
  if (labels[likely]?.[0] === name) return likely;
  const at = labels.findIndex(([found]) => found === name);
  return at === -1 ? labels.length : at;
}

/** Frames of verdicts and other derived values also have GPU labels, but no readings for the ledger. */
const isOfUse = (planned: JobGpuPlan): boolean =>
  planned.isSlow ||
  planned.plainSlots.some((slot) => slot >= 0) ||
  planned.throttleSlots.length > 0 ||
  planned.utilization >= 0 ||
  planned.owners.length > 0;

const ownerNames = ["namespace", "pod", "container", "workload", "user"] as const;

function ownerLabelsOf(labels: LabelSet): OwnerLabels {
  const found: Partial<Record<(typeof ownerNames)[number], string>> = {};
  for (const name of ownerNames) {
    const value = labelValue(labels, name);
    if (value !== undefined) found[name] = value;
  }
  return found;
}

/** Spelled out for speed: called for every owner of every new layout. */
export const isSameOwner = (a: OwnerLabels, b: OwnerLabels): boolean =>
  a.workload === b.workload &&
  a.user === b.user &&
  a.pod === b.pod &&
  a.container === b.container &&
  a.namespace === b.namespace;

function ownerIn({ owners }: JobGpuPlan, labels: LabelSet): PlannedOwner {
  const own = ownerLabelsOf(labels);
  let found = owners.find((one) => isSameOwner(one.labels, own));
  if (found === undefined) {
    found = { labels: own, infoSlot: -1, memorySlot: -1, utilizationSlot: -1 };
    owners.push(found);
  }
  return found;
}

const noSlots = Array.from({ length: plainColumns }, () => -1);

const emptyPlan = (uuid: string, host: string, gpu: number): JobGpuPlan => ({
  uuid,
  host,
  gpu,
  plainSlots: [...noSlots],
  throttleSlots: [],
  throttleReasons: [],
  xids: [],
  owners: [],
  utilization: -1,
  processes: -1,
  isSlow: false,
});
