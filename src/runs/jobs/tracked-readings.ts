/** The readings of each GPU since its last tick, and where to find them in the frames of a layout. */
import type { OwnerLabels } from "../../machine/owners/gpu-owners.ts";
import type { Device } from "../../model/device.ts";
import type { Frame } from "../../model/frame.ts";
import { presence } from "../../model/presence.ts";
import { isSameOwner, type JobGpuPlan, type PlannedOwner } from "./layout-plan.ts";
import type { GpuTick, TickOwner } from "./tick.ts";

/** Counters that only a tick needs: they stay in their frame until then. */
interface CounterSource {
  readonly frame: Frame;
  readonly planned: JobGpuPlan;
}

export interface TrackedReadings {
  readonly uuid: string;
  readonly host: string;
  readonly gpu: number;
  readonly key: string;
  /** The index of its row in `GpuRows`. */
  row: number;
  isForgotten: boolean;
  device: Device | undefined;
  /** The hardware's counter is used once it has been reported. */
  hasHardwareMeter: boolean;
  /** The owners of the last layout that had any. */
  owners: readonly PlannedOwner[];
  /** Owners of its partitions (MIG instances), by partition. */
  partOwners: Map<string, readonly TickOwner[]> | undefined;
  /** The plan and index of its fast readings. */
  fastPlan: LayoutPlan | undefined;
  fastAt: number;
  /** The location of the throttling counters: of the newest frame, and of the last reading. */
  newCounters: CounterSource | undefined;
  readCounters: CounterSource | undefined;
  throttleSeconds: Record<string, number> | undefined;
  /** The counters of the last reading without zeros; undefined once they have changed. */
  throttleRead: Readonly<Record<string, number>> | undefined;
  xids: Record<string, number>;
  xidsNow: Readonly<Record<string, number>> | undefined;
  /** The last reading, which ended the last tick or is accumulated since; undefined before the first. */
  meter: GpuTick["meter"] | undefined;
  hasActivity: boolean;
  isUsed: boolean;
  /** True if the readings since the last tick are partly idle and partly not. */
  isMixed: boolean;
  xidsRead: Readonly<Record<string, number>> | undefined;
  ownerCount: number;
  /** The labels of the only owner. */
  labels: OwnerLabels | undefined;
  /** Set if there are several owners. */
  sharedOwners: readonly TickOwner[] | undefined;
  /** The journal that contains the last tick. */
  generation: number;
}

/** Where the frames of one layout have the readings of its GPUs. */
export interface LayoutPlan {
  readonly gpus: readonly JobGpuPlan[];
  readonly tracked: TrackedReadings[];
  /** Utilisation of each GPU: its slot or -1, and the sum and count of the values since the last reading. */
  readonly slots: Int32Array;
  readonly sums: Float64Array;
  /** False while every GPU reports SM activity, which is used instead. */
  needsUtilization: boolean;
  /** A fast frame whose other readings have not been evaluated. */
  unread: Frame | undefined;
  /** The next time at which fast frames are evaluated. */
  dueMs: number;
}

/** In place of the number of owners: the source does not report users of the GPU. */
export const unknownOwners = -1;

/** Called for every fast frame of GPUs without SM activity: no lookups or allocations. */
export function addUtilization(
  { slots, sums }: LayoutPlan,
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
  const { readCounters } = known;
  if (readCounters !== undefined) {
    known.readCounters = undefined;
    const { frame, planned } = readCounters;
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
  { xids }: JobGpuPlan,
  known: TrackedReadings,
  isSlow: boolean,
): void {
  // The usual case: there were none and there are none.
  if (xids.length === 0 && (!isSlow || known.xidsNow === noCounts)) return;
  if (isSlow) known.xids = {};
  for (const { slot, xid } of xids)
    if (states[slot] === presence.present) known.xids[xid] = values[slot] ?? 0;
  known.xidsNow = undefined;
}

export const orAbsent = (value: number | undefined): number | undefined =>
  value === undefined || Number.isNaN(value) ? undefined : value;

const noCounts: Readonly<Record<string, number>> = {};

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

export const isPresent = ({ presence: states }: Frame, slot: number): boolean =>
  slot >= 0 && states[slot] === presence.present;

/** NaN if missing. */
export const readAt = (frame: Frame, slot = -1): number =>
  isPresent(frame, slot) ? (frame.values[slot] ?? Number.NaN) : Number.NaN;

export const emptyReadings = (
  { uuid, host, gpu, key }: Pick<JobGpuPlan, "uuid" | "host" | "gpu" | "key">,
  row: number,
): TrackedReadings => ({
  uuid,
  host,
  gpu,
  key,
  row,
  isForgotten: false,
  device: undefined,
  hasHardwareMeter: false,
  owners: [],
  partOwners: undefined,
  fastPlan: undefined,
  fastAt: 0,
  newCounters: undefined,
  readCounters: undefined,
  throttleSeconds: undefined,
  throttleRead: undefined,
  xids: {},
  xidsNow: undefined,
  meter: undefined,
  hasActivity: false,
  isUsed: false,
  isMixed: false,
  xidsRead: undefined,
  ownerCount: unknownOwners,
  labels: undefined,
  sharedOwners: undefined,
  generation: -1,
});
