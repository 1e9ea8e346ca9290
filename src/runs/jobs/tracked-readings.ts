/** Readings of each GPU since its last tick, and how they are found in the frames of a layout. */
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
  /** Its numbers in `GpuRows`. */
  row: number;
  isForgotten: boolean;
  device: Device | undefined;
  /** The hardware's counter is used wherever it was seen once. */
  hasHardwareMeter: boolean;
  /** Of the last layout that had any. */
  owners: readonly PlannedOwner[];
  /** Owners of its parts (MIG instances), by part. */
  partOwners: Map<string, readonly TickOwner[]> | undefined;
  /** Where its fast readings are. */
  fastPlan: LayoutPlan | undefined;
  fastAt: number;
  /** Where the throttling counters of the newest frame are, and those of the last reading. */
  newCounters: CounterSource | undefined;
  readCounters: CounterSource | undefined;
  throttleSeconds: Record<string, number> | undefined;
  /** Both without zeros, as they were last read; undefined once they have changed. */
  throttleRead: Readonly<Record<string, number>> | undefined;
  xids: Record<string, number>;
  xidsNow: Readonly<Record<string, number>> | undefined;
  /** The last reading, which is the end of the last tick or waits with those since; undefined before the first. */
  meter: GpuTick["meter"] | undefined;
  hasActivity: boolean;
  isUsed: boolean;
  /** Some readings since the last tick were idle and some were not. */
  isMixed: boolean;
  xidsRead: Readonly<Record<string, number>> | undefined;
  ownerCount: number;
  /** Of the one owner. */
  labels: OwnerLabels | undefined;
  /** Where there are several. */
  sharedOwners: readonly TickOwner[] | undefined;
  /** Which journal the last tick is in. */
  generation: number;
}

/** What the frames of one layout say about its GPUs. */
export interface LayoutPlan {
  readonly gpus: readonly JobGpuPlan[];
  readonly tracked: TrackedReadings[];
  /** Utilisation of each GPU: its slot or -1, and the sum and count of readings since they were last read. */
  readonly slots: Int32Array;
  readonly sums: Float64Array;
  /** False while every GPU reports SM activity, which is used instead. */
  needsUtilization: boolean;
  /** A fast frame whose other readings have not been looked at. */
  unread: Frame | undefined;
  /** No GPU is to be read by fast frames before. */
  dueMs: number;
}

/** In place of a number of owners: the source does not report who uses the GPU. */
export const unknownOwners = -1;

/** For every fast frame of GPUs without SM activity: nothing is looked up or made here. */
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

/** An owner that stays has the same labels, not only equal ones, in every layout, so that no reading has to compare them. */
export function reuseLabels({ owners }: JobGpuPlan, known: TrackedReadings): void {
  if (owners.length === 0) return;
  for (const owner of owners)
    for (const { labels } of known.owners)
      if (isSameOwner(labels, owner.labels)) owner.labels = labels;
  known.owners = owners;
}

/** The growth of counters belongs to the reading they were read with. */
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
  // Nearly always there were none and are none.
  if (xids.length === 0 && (!isSlow || known.xidsNow === noCounts)) return;
  if (isSlow) known.xids = {};
  for (const { slot, xid } of xids)
    if (states[slot] === presence.present) known.xids[xid] = values[slot] ?? 0;
  known.xidsNow = undefined;
}

export const orAbsent = (value: number | undefined): number | undefined =>
  value === undefined || Number.isNaN(value) ? undefined : value;

const noCounts: Readonly<Record<string, number>> = {};

/** A counter that is not there counts from 0. */
export function withoutZeros(
  counts: Readonly<Record<string, number>>,
): Readonly<Record<string, number>> {
  let found: Record<string, number> | undefined;
  for (const name in counts) if (counts[name] !== 0) (found ??= {})[name] = counts[name] ?? 0;
  return found ?? noCounts;
}

/** Undefined where the frame does not say who uses the GPU. */
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

/** NaN where it is absent. */
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
