/**
 * What the frames of a layout say about its GPUs, by slot. Made once for each layout; a machine whose processes come and go has
 * a new one each time, so this is not slow either.
 */
import { gpu as metrics, type MetricEntry } from "../../model/catalogue/index.ts";
import { deviceKey } from "../../model/device.ts";
import { type LabelSet, labelValue } from "../../model/labels.ts";
import type { Layout } from "../../model/layout.ts";
import type { OwnerLabels } from "../../machine/owners/gpu-owners.ts";

/** Metrics of the slow tier that gpulse derives and sends in frames of their own. */
const derived = /^gpu_(health|check|anomaly|temperature_at_load)/;

/** Readings that are remembered as they are; the place in `TrackedReadings.values` of each. */
export const place = {
  hardwareJoules: 0,
  integratedJoules: 1,
  smRatio: 2,
  tensorRatio: 3,
  dramRatio: 4,
  memoryBytes: 5,
} as const;
const plainMetrics: ReadonlyMap<MetricEntry, number> = new Map<MetricEntry, number>([
  [metrics.energy, place.hardwareJoules],
  [metrics.energyIntegrated, place.integratedJoules],
  [metrics.smActivity, place.smRatio],
  [metrics.tensorActivity, place.tensorRatio],
  [metrics.dramActivity, place.dramRatio],
  [metrics.memoryUsed, place.memoryBytes],
]);

export const placeCount = plainMetrics.size;

export interface PlannedOwner {
  readonly key: string;
  labels: OwnerLabels;
  infoSlot: number;
  memorySlot: number;
  utilizationSlot: number;
}

export interface PlannedGpu {
  readonly uuid: string;
  readonly host: string;
  readonly gpu: number;
  readonly key: string;
  /** Slots, and the places of their values. */
  readonly plainSlots: number[];
  readonly plainPlaces: number[];
  readonly throttleSlots: number[];
  readonly throttleReasons: string[];
  readonly xids: { readonly slot: number; readonly xid: string }[];
  readonly owners: PlannedOwner[];
  utilization: number;
  processes: number;
  /** Has readings of the slow tier, so that its owners are those in this frame. */
  isSlow: boolean;
}

/** What a series of the metric is to the ledger; `slow` says only that the frame is of the slow tier, `nothing` not even that. */
type SeriesUse = (planned: PlannedGpu, labels: LabelSet, slot: number) => void;

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

/** Undefined for metrics that say nothing here; a list of metrics is the same for ever. */
const uses = new Map<MetricEntry, SeriesUse | undefined>();

function useOf(metric: MetricEntry): SeriesUse | undefined {
  if (uses.has(metric)) return uses.get(metric);
  const use = metric.subject === "device" ? makeUse(metric) : undefined;
  uses.set(metric, use);
  return use;
}

function makeUse(metric: MetricEntry): SeriesUse | undefined {
  const isSlow = metric.tier === "slow" && !derived.test(metric.name);
  const at = plainMetrics.get(metric);
  const use =
    at === undefined
      ? special.get(metric)
      : ({ plainSlots, plainPlaces }: PlannedGpu, _: LabelSet, slot: number) => {
          plainSlots.push(slot);
          plainPlaces.push(at);
        };
  if (!isSlow) return use;
  return (planned, labels, slot) => {
    planned.isSlow = true;
    use?.(planned, labels, slot);
  };
}

export function planLayout({ series }: Layout): readonly PlannedGpu[] {
  const gpus: PlannedGpu[] = [];
  let planned: PlannedGpu | undefined;
  for (let slot = 0; slot < series.length; slot++) {
    const one = series[slot];
    const use = one && useOf(one.metric);
    if (one === undefined || use === undefined) continue;
    const { labels } = one;
    const uuid = labelValue(labels, "uuid");
    if (uuid === undefined) continue;
    const host = labelValue(labels, "host") ?? "";
    // Series of one GPU mostly stand together, or each metric has the GPUs in the same order.
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

/** Frames of verdicts and other derived values name GPUs too, and say nothing here. */
const isOfUse = (planned: PlannedGpu): boolean =>
  planned.isSlow ||
  planned.plainSlots.length > 0 ||
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

function ownerIn({ owners }: PlannedGpu, labels: LabelSet): PlannedOwner {
  const own = ownerLabelsOf(labels);
  const key = JSON.stringify(own);
  let found = owners.find((one) => one.key === key);
  if (found === undefined) {
    found = { key, labels: own, infoSlot: -1, memorySlot: -1, utilizationSlot: -1 };
    owners.push(found);
  }
  return found;
}

const emptyPlan = (uuid: string, host: string, gpu: number): PlannedGpu => ({
  uuid,
  host,
  gpu,
  key: deviceKey(host, uuid),
  plainSlots: [],
  plainPlaces: [],
  throttleSlots: [],
  throttleReasons: [],
  xids: [],
  owners: [],
  utilization: -1,
  processes: -1,
  isSlow: false,
});
