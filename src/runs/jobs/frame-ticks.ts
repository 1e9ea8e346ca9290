/**
 * From frames to ticks. A fast frame is only remembered, and its utilisation added up; its other readings are looked at when a
 * frame of the slow tier comes, which has the owners, or every `fastReadMs` where a source has no such tier. Such a reading
 * becomes a tick where something has changed: another owner, used or idle, a meter that restarted, another hour. Else readings
 * are added up, for `mostUnchangedMs` at most, and are one tick with their means: it gives the same seconds and joules as a
 * tick for each would, with fewer ticks. What waits is in the journal by `unchanged`.
 */
import { type Device, deviceKey } from "../../model/device.ts";
import type { Frame } from "../../model/frame.ts";
import type { Layout } from "../../model/layout.ts";
import { presence } from "../../model/presence.ts";
import type { Delivery } from "../../pipeline/sink.ts";
import {
  place,
  placeCount,
  planLayout,
  type PlannedGpu,
  type PlannedOwner,
} from "./layout-plan.ts";
import { defaultLedgerOptions } from "./ledger-options.ts";
import { hourMs } from "./record.ts";
import type { UnchangedGpus } from "./tick-codec.ts";
import type { GpuTick, TickOwner } from "./tick.ts";
import { TickSums } from "./tick-sums.ts";

/** A source without a slow tier is read this often. */
const fastReadMs = 15_000;
/** A GPU that has not reported for this long is forgotten. */
const forgetMs = 3_600_000;
/** Readings of a longer time are no longer one tick; no more than the gap of the ledger. */
const mostUnchangedMs = defaultLedgerOptions.gapMs;
/** Readings that are further apart are ticks of their own; less than the gap of the ledger. */
const mostApartMs = 30_000;

interface TrackedReadings {
  readonly uuid: string;
  readonly host: string;
  readonly gpu: number;
  readonly key: string;
  device: Device | undefined;
  /** The newest, by `place`; NaN where there is none. */
  readonly values: Float64Array;
  timeMs: number;
  utilizationSum: number;
  utilizationCount: number;
  throttleSeconds: Record<string, number> | undefined;
  xids: Record<string, number>;
  /** Both without zeros, as they were last read; undefined once they have changed. */
  throttleRead: Readonly<Record<string, number>> | undefined;
  xidsRead: Readonly<Record<string, number>> | undefined;
  /** The hardware's counter is used wherever it was seen once. */
  hasHardwareMeter: boolean;
  /** Of the last layout that had any. */
  owners: readonly PlannedOwner[];
  /** Owners of its parts (MIG instances), by part. */
  partOwners: Map<string, readonly TickOwner[]>;
  /** Where its fast readings are. */
  fast: { readonly plan: LayoutPlan; readonly at: number } | undefined;
  /** The last reading, which is the end of the last tick or waits with those since. */
  read: GpuReading | undefined;
  /** When the last tick was. */
  tickMs: number;
  /** Of the readings since the last tick, without those of which there is no more to say. */
  readonly sums: TickSums;
  /** Which journal the last tick is in. */
  generation: number;
}

/** What one look at a GPU found; replaced in place while nothing changes. */
interface GpuReading {
  timeMs: number;
  joules: number;
  readonly meter: GpuTick["meter"];
  /** Undefined where activity is not reported. */
  readonly isUsed: boolean | undefined;
  owners: readonly TickOwner[] | undefined;
  throttleSeconds: GpuTick["throttleSeconds"];
  xids: GpuTick["xids"];
}

/** What the frames of one layout say about its GPUs. */
interface LayoutPlan {
  readonly gpus: readonly PlannedGpu[];
  readonly tracked: TrackedReadings[];
  /** Utilisation of each GPU: its slot or -1, and the readings since they were last moved to `tracked`. */
  readonly slots: Int32Array;
  readonly sums: Float64Array;
  readonly counts: Uint32Array;
  /** A fast frame whose other readings have not been looked at. */
  unread: Frame | undefined;
  /** No GPU is to be read by fast frames before. */
  dueMs: number;
}

export type TickDelivery = Pick<Delivery, "frame" | "devices" | "tier" | "isExposed">;

export interface FrameTicksOptions {
  readonly anomaliesOf?: ((key: string) => readonly string[]) | undefined;
  /** Activity from which a GPU is used. */
  readonly floorRatio?: number | undefined;
  /** Machines on which a job waits to be closed: their readings do not wait. */
  readonly isUrgent?: ((host: string) => boolean) | undefined;
}

/** What a frame changed. */
export interface FrameChanges {
  readonly ticks: readonly GpuTick[];
  /** For the journal alone. */
  readonly unchanged: UnchangedGpus | undefined;
}

const noChanges: FrameChanges = { ticks: [], unchanged: undefined };

export class FrameTicks {
  readonly #plans = new WeakMap<Layout, LayoutPlan>();
  readonly #gpus = new Map<string, TrackedReadings>();
  readonly #anomaliesOf: (key: string) => readonly string[];
  readonly #floorRatio: number;
  readonly #isUrgent: (host: string) => boolean;
  #sweptMs = 0;
  #generation = 0;

  constructor(options: FrameTicksOptions = {}) {
    this.#anomaliesOf = options.anomaliesOf ?? (() => []);
    this.#floorRatio = options.floorRatio ?? defaultLedgerOptions.floorRatio;
    this.#isUrgent = options.isUrgent ?? (() => false);
  }

  take({ frame, devices, tier, isExposed }: TickDelivery): FrameChanges {
    let plan = this.#plans.get(frame.layout);
    if (plan === undefined) this.#plans.set(frame.layout, (plan = this.#plan(frame)));
    // Some sources report a slow metric with the fast ones; what was scraped has all of them in one.
    const isFast = tier === "fast" && isExposed !== false;
    addUtilization(plan, frame);
    plan.unread = isFast ? frame : undefined;
    if (isFast && frame.timeMs < plan.dueMs) return noChanges;
    const { gpus, tracked } = plan;
    const ticks: GpuTick[] = [];
    const uuids: string[] = [];
    const joules: number[] = [];
    let dueMs = Number.POSITIVE_INFINITY;
    for (let at = 0; at < gpus.length; at++) {
      const [planned, known] = [gpus[at], tracked[at]];
      if (planned === undefined || known === undefined) continue;
      // It was forgotten while it was silent.
      if (frame.timeMs - known.timeMs > forgetMs) this.#gpus.set(planned.key, known);
      if (isFast && known.fast?.plan !== plan) known.fast = { plan, at };
      const isSlow = planned.isSlow && !isFast;
      if (!isFast || frame.timeMs - readMsOf(known) >= fastReadMs) {
        if (!isFast && known.fast !== undefined) readLatest(known.fast);
        moveUtilization(plan, at, known);
        if (known.device === undefined)
          known.device = devices.find(({ uuid }) => uuid === planned.uuid);
        if (this.#readGpu(frame, planned, known, isSlow, ticks)) {
          uuids.push(known.uuid);
          joules.push(known.read?.joules ?? 0);
        }
      }
      dueMs = Math.min(dueMs, readMsOf(known) + fastReadMs);
    }
    plan.dueMs = dueMs;
    this.#sweep(frame.timeMs);
    const unchanged = uuids.length === 0 ? undefined : { timeMs: frame.timeMs, uuids, joules };
    return ticks.length === 0 && unchanged === undefined ? noChanges : { ticks, unchanged };
  }

  /** Ticks of what waits, such as before somebody looks. */
  flush(): GpuTick[] {
    const ticks: GpuTick[] = [];
    for (const known of this.#gpus.values()) this.#flushGpu(known, ticks);
    return ticks;
  }

  /** The journal was replaced: the next reading of every GPU is a whole tick. */
  restart(): void {
    this.#generation++;
  }

  #plan(frame: Frame): LayoutPlan {
    const gpus = planLayout(frame.layout);
    const tracked = gpus.map((planned) => {
      let known = this.#gpus.get(planned.key);
      if (known === undefined)
        this.#gpus.set(planned.key, (known = emptyReadings(planned, frame.timeMs)));
      reuseLabels(planned, known);
      return known;
    });
    return {
      gpus,
      tracked,
      slots: Int32Array.from(gpus, ({ utilization }) => utilization),
      sums: new Float64Array(gpus.length),
      counts: new Uint32Array(gpus.length),
      unread: undefined,
      dueMs: Number.NEGATIVE_INFINITY,
    };
  }

  /** True where nothing has changed but the meter. */
  #readGpu(
    frame: Frame,
    planned: PlannedGpu,
    known: TrackedReadings,
    isSlow: boolean,
    ticks: GpuTick[],
  ): boolean {
    known.timeMs = Math.max(known.timeMs, frame.timeMs);
    readPlain(frame, planned, known);
    readXids(frame, planned, known, isSlow);
    const parent = known.device?.parent;
    if (parent !== undefined) {
      const whole = this.#gpus.get(deviceKey(planned.host, parent));
      if (isSlow) whole?.partOwners.set(planned.uuid, ownersIn(frame, planned) ?? []);
      return false;
    }
    if (!isSlow && frame.timeMs - readMsOf(known) < fastReadMs) return false;
    const { values } = known;
    const joules = values[known.hasHardwareMeter ? place.hardwareJoules : place.integratedJoules];
    if (joules === undefined || Number.isNaN(joules)) return false;
    return this.#takeReading(frame, planned, known, joules, isSlow, ticks);
  }

  #takeReading(
    frame: Frame,
    planned: PlannedGpu,
    known: TrackedReadings,
    joules: number,
    isSlow: boolean,
    ticks: GpuTick[],
  ): boolean {
    const { values, read, utilizationSum, utilizationCount } = known;
    const { timeMs } = frame;
    const isSimulated = known.device?.simulated === true;
    const own = ownersIn(frame, planned) ?? (isSlow && isSimulated ? nobody : undefined);
    const owners =
      known.partOwners.size === 0
        ? own
        : [...(own ?? []), ...[...known.partOwners.values()].flat()];
    const activityRatio =
      orAbsent(values[place.smRatio]) ??
      (utilizationCount === 0 ? undefined : utilizationSum / utilizationCount);
    known.utilizationSum = known.utilizationCount = 0;
    const isUsed = activityRatio === undefined ? undefined : activityRatio > this.#floorRatio;
    const meter = known.hasHardwareMeter ? "hardware" : "integrated";
    known.throttleRead ??= known.throttleSeconds && withoutZeros(known.throttleSeconds);
    const xids = (known.xidsRead ??= withoutZeros(known.xids));
    const goesOn =
      read !== undefined &&
      read.isUsed === isUsed &&
      read.meter === meter &&
      joules >= read.joules &&
      timeMs > read.timeMs &&
      timeMs - read.timeMs <= mostApartMs &&
      Math.floor(read.timeMs / hourMs) === Math.floor(timeMs / hourMs) &&
      isSameOwner(read.owners, owners);
    // Ticks further apart would be a gap to the ledger.
    const isFar = timeMs - known.tickMs > mostUnchangedMs;
    if (!goesOn || isFar) this.#flushGpu(known, ticks);
    known.sums.add(activityRatio, values, owners);
    if (
      goesOn &&
      timeMs - known.tickMs < mostUnchangedMs &&
      read.xids === xids &&
      known.generation === this.#generation &&
      !this.#isUrgent(known.host)
    ) {
      read.timeMs = timeMs;
      read.joules = joules;
      read.owners = owners;
      read.throttleSeconds = known.throttleRead;
      return true;
    }
    known.read = {
      timeMs,
      joules,
      meter,
      isUsed,
      owners,
      throttleSeconds: known.throttleRead,
      xids,
    };
    ticks.push(this.#tick(known, known.read));
    return false;
  }

  #flushGpu(known: TrackedReadings, ticks: GpuTick[]): void {
    if (known.read !== undefined && known.read.timeMs !== known.tickMs)
      ticks.push(this.#tick(known, known.read));
  }

  #tick(known: TrackedReadings, read: GpuReading): GpuTick {
    const { sums } = known;
    const anomalies = this.#anomaliesOf(known.key);
    // One shape for all ticks: what reads them is compiled for it.
    const tick: GpuTick = {
      uuid: known.uuid,
      host: known.host,
      gpu: known.gpu,
      model: known.device?.model ?? "unknown",
      simulated: known.device?.simulated === true,
      timeMs: read.timeMs,
      joules: read.joules,
      meter: read.meter,
      activityRatio: sums.activityRatio,
      tensorRatio: sums.tensorRatio,
      dramRatio: sums.dramRatio,
      memoryBytes: sums.memoryBytes,
      peakMemoryBytes: sums.peakMemoryBytes,
      throttleSeconds: read.throttleSeconds,
      xids: read.xids,
      anomalies: anomalies.length === 0 ? undefined : anomalies,
      owners: sums.ownersOf(read.owners),
    };
    sums.clear();
    known.tickMs = read.timeMs;
    known.generation = this.#generation;
    return tick;
  }

  #sweep(nowMs: number): void {
    if (nowMs - this.#sweptMs < forgetMs) return;
    this.#sweptMs = nowMs;
    for (const [key, { timeMs }] of this.#gpus)
      if (nowMs - timeMs > forgetMs) this.#gpus.delete(key);
  }
}

const nobody: readonly TickOwner[] = [];

const readMsOf = ({ read, timeMs }: TrackedReadings): number => read?.timeMs ?? timeMs;

/** The same one owner, or nobody: shares of several are booked as they are read. */
function isSameOwner(
  before: readonly TickOwner[] | undefined,
  now: readonly TickOwner[] | undefined,
): boolean {
  if (before === undefined || now === undefined) return before === now;
  return now.length <= 1 && before.length === now.length && before[0]?.labels === now[0]?.labels;
}

/** An owner that stays has the same labels, not only equal ones, in every layout, so the ledger sees without comparing them that nothing changed. */
function reuseLabels({ owners }: PlannedGpu, known: TrackedReadings): void {
  if (owners.length === 0) return;
  for (const owner of owners)
    owner.labels = known.owners.find(({ key }) => key === owner.key)?.labels ?? owner.labels;
  known.owners = owners;
}

/** For every fast frame of every GPU: nothing is looked up or made here. */
function addUtilization({ slots, sums, counts }: LayoutPlan, { values, presence: states }: Frame) {
  for (let at = 0; at < slots.length; at++) {
    const slot = slots[at] ?? -1;
    if (slot < 0 || states[slot] !== presence.present) continue;
    sums[at] = (sums[at] ?? 0) + (values[slot] ?? 0);
    counts[at] = (counts[at] ?? 0) + 1;
  }
}

function moveUtilization({ sums, counts }: LayoutPlan, at: number, known: TrackedReadings): void {
  known.utilizationSum += sums[at] ?? 0;
  known.utilizationCount += counts[at] ?? 0;
  sums[at] = counts[at] = 0;
}

/** Takes in what fast frames brought since the last tick. */
function readLatest({ plan, at }: { readonly plan: LayoutPlan; readonly at: number }): void {
  const [planned, known] = [plan.gpus[at], plan.tracked[at]];
  if (planned === undefined || known === undefined) return;
  moveUtilization(plan, at, known);
  if (plan.unread === undefined) return;
  known.timeMs = Math.max(known.timeMs, plan.unread.timeMs);
  readPlain(plan.unread, planned, known);
}

function readPlain(
  { values, presence: states }: Frame,
  { plainSlots, plainPlaces, throttleSlots, throttleReasons }: PlannedGpu,
  known: TrackedReadings,
): void {
  for (let at = 0; at < plainSlots.length; at++) {
    const [slot = 0, to = 0] = [plainSlots[at], plainPlaces[at]];
    known.values[to] =
      states[slot] === presence.present ? (values[slot] ?? Number.NaN) : Number.NaN;
  }
  if (!known.hasHardwareMeter)
    known.hasHardwareMeter = !Number.isNaN(known.values[place.hardwareJoules]);
  for (let at = 0; at < throttleSlots.length; at++) {
    const [slot = 0, reason = ""] = [throttleSlots[at], throttleReasons[at]];
    if (states[slot] !== presence.present) continue;
    const seconds = values[slot] ?? 0;
    const counts = (known.throttleSeconds ??= {});
    if (counts[reason] === seconds) continue;
    counts[reason] = seconds;
    known.throttleRead = undefined;
  }
}

function readXids(
  { values, presence: states }: Frame,
  { xids }: PlannedGpu,
  known: TrackedReadings,
  isSlow: boolean,
): void {
  // Nearly always there were none and are none.
  if (xids.length === 0 && (!isSlow || known.xidsRead === noCounts)) return;
  if (isSlow) known.xids = {};
  for (const { slot, xid } of xids)
    if (states[slot] === presence.present) known.xids[xid] = values[slot] ?? 0;
  known.xidsRead = undefined;
}

const orAbsent = (value: number | undefined): number | undefined =>
  value === undefined || Number.isNaN(value) ? undefined : value;

const noCounts: Readonly<Record<string, number>> = {};

/** A counter that is not there counts from 0. */
function withoutZeros(counts: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  let found: Record<string, number> | undefined;
  for (const name in counts) if (counts[name] !== 0) (found ??= {})[name] = counts[name] ?? 0;
  return found ?? noCounts;
}

/** Undefined where the frame does not say who uses the GPU. */
function ownersIn(frame: Frame, { owners, processes }: PlannedGpu): TickOwner[] | undefined {
  if (owners.length === 0) return valueAt(frame, processes) === undefined ? undefined : [];
  const found: TickOwner[] = [];
  for (const { labels, infoSlot, memorySlot, utilizationSlot } of owners) {
    if (valueAt(frame, infoSlot) === undefined) continue;
    const memoryBytes = valueAt(frame, memorySlot);
    const utilizationRatio = valueAt(frame, utilizationSlot);
    found.push({ labels, memoryBytes, utilizationRatio });
  }
  return found;
}

const valueAt = ({ values, presence: states }: Frame, slot: number): number | undefined =>
  slot >= 0 && states[slot] === presence.present ? values[slot] : undefined;

const emptyReadings = ({ uuid, host, gpu, key }: PlannedGpu, timeMs: number): TrackedReadings => ({
  uuid,
  host,
  gpu,
  key,
  device: undefined,
  values: new Float64Array(placeCount).fill(Number.NaN),
  timeMs,
  utilizationSum: 0,
  utilizationCount: 0,
  throttleSeconds: undefined,
  xids: {},
  throttleRead: undefined,
  xidsRead: undefined,
  hasHardwareMeter: false,
  owners: [],
  partOwners: new Map(),
  fast: undefined,
  read: undefined,
  tickMs: Number.NEGATIVE_INFINITY,
  sums: new TickSums(),
  generation: -1,
});
