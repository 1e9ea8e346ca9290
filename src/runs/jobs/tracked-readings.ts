/** The readings of each GPU since its last tick, and where to find them in the frames of a layout. */
import type { OwnerLabels } from "../../machine/owners/gpu-owners.ts";
import { type Device, deviceKey } from "../../model/device.ts";
import type { Frame } from "../../model/frame.ts";
import { presence } from "../../model/presence.ts";
import { plainColumns } from "./gpu-rows.ts";
import { isSameOwner, type JobGpuPlan, type PlannedOwner } from "./layout-plan.ts";
import type { GpuTick, TickOwner } from "./tick.ts";

/** What every reading needs comes first, on the fewest cache lines; `emptyReadings` has the same order. */
export interface TrackedReadings {
  /** The index of its row in `GpuRows`. */
  row: number;
  /** The plan and index of its fast readings. */
  fastPlan: LayoutPlan | undefined;
  fastAt: number;
  isForgotten: boolean;
  /** True for a GPU partition: only its owners count, as those of the whole GPU. */
  isPart: boolean;
  /** The hardware's counter is used once it has been reported. */
  hasHardwareMeter: boolean;
  /** The last reading, which ended the last tick or is accumulated since; undefined before the first. */
  meter: GpuTick["meter"] | undefined;
  hasActivity: boolean;
  isUsed: boolean;
  /** True if the readings since the last tick are partly idle and partly not. */
  isMixed: boolean;
  ownerCount: number;
  /** The labels of the only owner. */
  labels: OwnerLabels | undefined;
  /** Set if there are several owners. */
  sharedOwners: readonly TickOwner[] | undefined;
  /** Owners of its partitions (MIG instances), by partition. */
  partOwners: Map<string, readonly TickOwner[]> | undefined;
  /** Where the throttling counters are, which only a tick needs: in the newest frame, and in that of the last reading. */
  newCounters: Frame | undefined;
  newCountersPlan: JobGpuPlan | undefined;
  readCounters: Frame | undefined;
  readCountersPlan: JobGpuPlan | undefined;
  xidsNow: Readonly<Record<string, number>> | undefined;
  xidsRead: Readonly<Record<string, number>> | undefined;
  /** The journal that contains the last tick, and the GPU's index in it. */
  generation: number;
  journalIndex: number;
  readonly uuid: string;
  readonly host: string;
  readonly gpu: number;
  readonly key: string;
  device: Device | undefined;
  /** The owners of the last layout that had any. */
  owners: readonly PlannedOwner[];
  throttleSeconds: Record<string, number> | undefined;
  /** The counters of the last reading without zeros; undefined once they have changed. */
  throttleRead: Readonly<Record<string, number>> | undefined;
  xids: Record<string, number>;
}

/** The slots of a GPU in `LayoutPlan.slots`: its plain columns, then these. */
export const slotOf = {
  processes: plainColumns,
  /** Of the only owner. */
  owner: plainColumns + 1,
  ownerMemory: plainColumns + 2,
  ownerUtilization: plainColumns + 3,
} as const;
export const slotsPerGpu = plainColumns + 4;

/** Where the frames of one layout have the readings of its GPUs. */
export interface LayoutPlan {
  readonly gpus: readonly JobGpuPlan[];
  readonly tracked: TrackedReadings[];
  /** `slotsPerGpu` slots for each GPU, -1 where the layout has none. */
  readonly slots: Int32Array;
  /** The labels of each GPU's only owner. */
  readonly labels: readonly (OwnerLabels | undefined)[];
  /** `gpuFlag` bits of each GPU. */
  readonly flags: Uint8Array;
  /** Utilisation of each GPU: its slot or -1, and the sum and count of the values since the last reading. */
  readonly utilizationSlots: Int32Array;
  readonly utilizationSums: Float64Array;
  /** False while every GPU reports SM activity, which is used instead. */
  needsUtilization: boolean;
  /** A fast frame whose other readings have not been evaluated. */
  unread: Frame | undefined;
  /** The next time at which fast frames are evaluated. */
  dueMs: number;
}

/** What a layout has of a GPU: readings of the slow tier, several owners, Xids, counters of throttling. */
export const gpuFlag = { slow: 1, shared: 2, xids: 4, throttling: 8 } as const;

/** Called for every new layout: a machine whose processes change has one each time. */
export function layoutPlan(gpus: readonly JobGpuPlan[], tracked: TrackedReadings[]): LayoutPlan {
  const slots = new Int32Array(slotsPerGpu * gpus.length);
  const labels: (OwnerLabels | undefined)[] = [];
  const flags = new Uint8Array(gpus.length);
  let hasUtilization = false;
  for (const [at, planned] of gpus.entries()) {
    const { plainSlots, processes, owners, xids, throttleSlots, isSlow } = planned;
    const only = owners[0];
    const first = at * slotsPerGpu;
    slots.set(plainSlots, first);
    slots[first + slotOf.processes] = processes;
    slots[first + slotOf.owner] = only?.infoSlot ?? -1;
    slots[first + slotOf.ownerMemory] = only?.memorySlot ?? -1;
    slots[first + slotOf.ownerUtilization] = only?.utilizationSlot ?? -1;
    labels.push(only?.labels);
    flags[at] =
      (isSlow ? gpuFlag.slow : 0) |
      (owners.length > 1 ? gpuFlag.shared : 0) |
      (xids.length > 0 ? gpuFlag.xids : 0) |
      (throttleSlots.length > 0 ? gpuFlag.throttling : 0);
    hasUtilization ||= planned.utilization >= 0;
  }
  const utilizationSlots = new Int32Array(hasUtilization ? gpus.length : 0);
  for (let at = 0; at < utilizationSlots.length; at++)
    utilizationSlots[at] = gpus[at]?.utilization ?? -1;
  return {
    gpus,
    tracked,
    slots,
    labels,
    flags,
    utilizationSlots,
    utilizationSums: new Float64Array(2 * utilizationSlots.length),
    needsUtilization: hasUtilization,
    unread: undefined,
    dueMs: Number.NEGATIVE_INFINITY,
  };
}

/** In place of the number of owners: the source does not report users of the GPU. */
export const unknownOwners = -1;

/** Called for every fast frame of GPUs without SM activity: no lookups or allocations. */
export function addUtilization(
  { utilizationSlots: slots, utilizationSums: sums }: LayoutPlan,
  { values, presence: states }: Frame,
): void {
  for (let at = 0; at < slots.length; at++) {
    const slot = slots[at] ?? -1;
    if (slot < 0 || states[slot] !== presence.present) continue;
    sums[2 * at] = (sums[2 * at] ?? 0) + (values[slot] ?? 0);
    sums[2 * at + 1] = (sums[2 * at + 1] ?? 0) + 1;
  }
}

/** A continuing owner keeps the same labels object in every layout, so that readings compare by identity. */
export function reuseLabels({ owners }: JobGpuPlan, known: TrackedReadings): void {
  if (owners.length === 0) return;
  for (const owner of owners)
    for (const { labels } of known.owners)
      if (isSameOwner(labels, owner.labels)) owner.labels = labels;
  known.owners = owners;
}

/** The increase of counters belongs to the reading with which they were read. */
export function readThrottling(
  known: TrackedReadings,
): Readonly<Record<string, number>> | undefined {
  const { readCounters: frame, readCountersPlan: planned } = known;
  if (frame !== undefined && planned !== undefined) {
    known.readCounters = known.readCountersPlan = undefined;
    const { throttleSlots, throttleReasons } = planned;
    for (let at = 0; at < throttleSlots.length; at++) {
      const seconds = readAt(frame, throttleSlots[at]);
      if (Number.isNaN(seconds)) continue;
      const counts = (known.throttleSeconds ??= {});
      const reason = throttleReasons[at] ?? "";
      if (counts[reason] === seconds) continue;
      counts[reason] = seconds;
      known.throttleRead = undefined;
    }
  }
  return (known.throttleRead ??= known.throttleSeconds && withoutZeros(known.throttleSeconds));
}

export function readXids(
  { values, presence: states }: Frame,
  planned: JobGpuPlan | undefined,
  known: TrackedReadings,
  isSlow: boolean,
): void {
  if (isSlow) known.xids = {};
  for (const { slot, xid } of planned?.xids ?? [])
    if (states[slot] === presence.present) known.xids[xid] = values[slot] ?? 0;
  known.xidsNow = undefined;
}

export const orAbsent = (value: number | undefined): number | undefined =>
  value === undefined || Number.isNaN(value) ? undefined : value;

export const noCounts: Readonly<Record<string, number>> = {};

/** A missing counter counts from 0. */
export function withoutZeros(
  counts: Readonly<Record<string, number>>,
): Readonly<Record<string, number>> {
  let found: Record<string, number> | undefined;
  for (const name in counts) if (counts[name] !== 0) (found ??= {})[name] = counts[name] ?? 0;
  return found ?? noCounts;
}

/** Undefined if the frame does not report users of the GPU. */
export function ownersIn(frame: Frame, { owners, processes }: JobGpuPlan): TickOwner[] | undefined {
  if (owners.length === 0) return isPresent(frame, processes) ? [] : undefined;
  const found: TickOwner[] = [];
  for (const { labels, infoSlot, memorySlot, utilizationSlot } of owners) {
    if (!isPresent(frame, infoSlot)) continue;
    const memoryBytes = orAbsent(readAt(frame, memorySlot));
    const utilizationRatio = orAbsent(readAt(frame, utilizationSlot));
    found.push({ labels, memoryBytes, utilizationRatio });
  }
  return found;
}

/** The owners of a GPU and of its partitions. */
export const allOwners = (
  frame: Frame,
  planned: JobGpuPlan | undefined,
  { partOwners }: TrackedReadings,
): readonly TickOwner[] => [
  ...((planned && ownersIn(frame, planned)) ?? []),
  ...(partOwners === undefined ? [] : [...partOwners.values()].flat()),
];

export const isPresent = ({ presence: states }: Frame, slot: number): boolean =>
  slot >= 0 && states[slot] === presence.present;

/** NaN if missing. */
export const readAt = (frame: Frame, slot = -1): number =>
  isPresent(frame, slot) ? (frame.values[slot] ?? Number.NaN) : Number.NaN;

export const emptyReadings = (
  { uuid, host, gpu }: Pick<JobGpuPlan, "uuid" | "host" | "gpu">,
  row: number,
): TrackedReadings => ({
  row,
  fastPlan: undefined,
  fastAt: 0,
  isForgotten: false,
  isPart: false,
  hasHardwareMeter: false,
  meter: undefined,
  hasActivity: false,
  isUsed: false,
  isMixed: false,
  ownerCount: unknownOwners,
  labels: undefined,
  sharedOwners: undefined,
  partOwners: undefined,
  newCounters: undefined,
  newCountersPlan: undefined,
  readCounters: undefined,
  readCountersPlan: undefined,
  xidsNow: undefined,
  xidsRead: undefined,
  generation: -1,
  journalIndex: 0,
  uuid,
  host,
  gpu,
  key: deviceKey(host, uuid),
  device: undefined,
  owners: [],
  throttleSeconds: undefined,
  throttleRead: undefined,
  xids: {},
});

export function findDevice(known: TrackedReadings, devices: readonly Device[]): void {
  known.device = devices.find(({ uuid }) => uuid === known.uuid);
  known.isPart = known.device?.parent !== undefined;
}

/** The GPU if it is the planned one and was not forgotten. */
export const ifPlanned = (
  known: TrackedReadings | undefined,
  { host, uuid }: JobGpuPlan,
): TrackedReadings | undefined =>
  known !== undefined && !known.isForgotten && known.uuid === uuid && known.host === host
    ? known
    : undefined;
