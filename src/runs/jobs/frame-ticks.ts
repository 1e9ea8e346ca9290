/**
 * From frames to ticks. A fast frame is only remembered, and its utilisation added up; its other readings are looked at when a
 * tick is made: when a frame of the slow tier comes, which has the owners, or every `fastTickMs` where a source has no such
 * tier. Holds only the newest readings, so a restart loses nothing that the meters do not make up for.
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
import type { GpuTick, TickOwner } from "./tick.ts";

/** A source without a slow tier makes a tick this often. */
const fastTickMs = 15_000;
/** A GPU that has not reported for this long is forgotten. */
const forgetMs = 3_600_000;

interface TrackedReadings {
  device: Device | undefined;
  /** The newest, by `plainMetrics`; NaN where there is none. */
  readonly values: Float64Array;
  timeMs: number;
  tickMs: number;
  utilizationSum: number;
  utilizationCount: number;
  throttleSeconds: Record<string, number> | undefined;
  xids: Record<string, number>;
  /** Both without zeros, as the last tick had them; undefined once they have changed. */
  throttleInTick: Readonly<Record<string, number>> | undefined;
  xidsInTick: Readonly<Record<string, number>> | undefined;
  /** The hardware's counter is used wherever it was seen once. */
  hasHardwareMeter: boolean;
  /** Of the last layout that had any. */
  owners: readonly PlannedOwner[];
  /** Owners of its parts (MIG instances), by part. */
  partOwners: Map<string, readonly TickOwner[]>;
  /** Where its fast readings are. */
  fast: { readonly plan: LayoutPlan; readonly at: number } | undefined;
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
  /** No GPU is due for a tick by fast frames before. */
  dueMs: number;
}

export type TickDelivery = Pick<Delivery, "frame" | "devices" | "tier" | "isExposed">;

export class FrameTicks {
  readonly #plans = new WeakMap<Layout, LayoutPlan>();
  readonly #gpus = new Map<string, TrackedReadings>();
  readonly #anomaliesOf: (key: string) => readonly string[];
  #sweptMs = 0;

  constructor(anomaliesOf: (key: string) => readonly string[] = () => []) {
    this.#anomaliesOf = anomaliesOf;
  }

  take({ frame, devices, tier, isExposed }: TickDelivery): GpuTick[] {
    let plan = this.#plans.get(frame.layout);
    if (plan === undefined) this.#plans.set(frame.layout, (plan = this.#plan(frame)));
    // Some sources report a slow metric with the fast ones; what was scraped has all of them in one.
    const isFast = tier === "fast" && isExposed !== false;
    addUtilization(plan, frame);
    if (isFast && frame.timeMs < plan.dueMs) {
      plan.unread = frame;
      return noTicks;
    }
    plan.unread = undefined;
    const { gpus, tracked } = plan;
    const ticks: GpuTick[] = [];
    let dueMs = Number.POSITIVE_INFINITY;
    for (let at = 0; at < gpus.length; at++) {
      const [planned, known] = [gpus[at], tracked[at]];
      if (planned === undefined || known === undefined) continue;
      // It was forgotten while it was silent.
      if (frame.timeMs - known.timeMs > forgetMs) this.#gpus.set(planned.key, known);
      if (isFast) known.fast = { plan, at };
      else if (known.fast !== undefined) readLatest(known.fast);
      moveUtilization(plan, at, known);
      const tick = this.#takeGpu(frame, planned, known, devices, isFast);
      if (tick !== undefined) ticks.push(tick);
      dueMs = Math.min(dueMs, known.tickMs + fastTickMs);
    }
    plan.dueMs = dueMs;
    this.#sweep(frame.timeMs);
    return ticks;
  }

  #plan(frame: Frame): LayoutPlan {
    const gpus = planLayout(frame.layout);
    const tracked = gpus.map((planned) => {
      let known = this.#gpus.get(planned.key);
      if (known === undefined) this.#gpus.set(planned.key, (known = emptyReadings(frame.timeMs)));
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

  #takeGpu(
    frame: Frame,
    planned: PlannedGpu,
    known: TrackedReadings,
    devices: readonly Device[],
    isFast: boolean,
  ): GpuTick | undefined {
    const isSlow = planned.isSlow && !isFast;
    if (known.device === undefined)
      known.device = devices.find(({ uuid }) => uuid === planned.uuid);
    known.timeMs = Math.max(known.timeMs, frame.timeMs);
    readPlain(frame, planned, known);
    readXids(frame, planned, known, isSlow);
    const parent = known.device?.parent;
    if (parent !== undefined) {
      const whole = this.#gpus.get(deviceKey(planned.host, parent));
      if (isSlow) whole?.partOwners.set(planned.uuid, ownersIn(frame, planned) ?? []);
      return undefined;
    }
    const isDue = isSlow || frame.timeMs - known.tickMs >= fastTickMs;
    return isDue ? this.#tick(frame, planned, known, isSlow) : undefined;
  }

  #tick(
    frame: Frame,
    planned: PlannedGpu,
    known: TrackedReadings,
    isSlow: boolean,
  ): GpuTick | undefined {
    const { values } = known;
    const joules = values[known.hasHardwareMeter ? place.hardwareJoules : place.integratedJoules];
    if (joules === undefined || Number.isNaN(joules)) return undefined;
    const isSimulated = known.device?.simulated === true;
    const own = ownersIn(frame, planned) ?? (isSlow && isSimulated ? [] : undefined);
    const owners =
      known.partOwners.size === 0
        ? own
        : [...(own ?? []), ...[...known.partOwners.values()].flat()];
    const { utilizationSum, utilizationCount } = known;
    const activityRatio =
      orAbsent(values[place.smRatio]) ??
      (utilizationCount === 0 ? undefined : utilizationSum / utilizationCount);
    const anomalies = this.#anomaliesOf(planned.key);
    // One shape for all ticks: what reads them is compiled for it.
    const tick: GpuTick = {
      uuid: planned.uuid,
      host: planned.host,
      gpu: planned.gpu,
      model: known.device?.model ?? "unknown",
      simulated: isSimulated,
      timeMs: frame.timeMs,
      joules,
      meter: known.hasHardwareMeter ? "hardware" : "integrated",
      activityRatio,
      tensorRatio: orAbsent(values[place.tensorRatio]),
      dramRatio: orAbsent(values[place.dramRatio]),
      memoryBytes: orAbsent(values[place.memoryBytes]),
      throttleSeconds: (known.throttleInTick ??=
        known.throttleSeconds && withoutZeros(known.throttleSeconds)),
      xids: (known.xidsInTick ??= withoutZeros(known.xids)),
      anomalies: anomalies.length === 0 ? undefined : anomalies,
      owners,
    };
    known.tickMs = frame.timeMs;
    known.utilizationSum = known.utilizationCount = 0;
    return tick;
  }

  #sweep(nowMs: number): void {
    if (nowMs - this.#sweptMs < forgetMs) return;
    this.#sweptMs = nowMs;
    for (const [key, { timeMs }] of this.#gpus)
      if (nowMs - timeMs > forgetMs) this.#gpus.delete(key);
  }
}

const noTicks: GpuTick[] = [];

/** An owner that stays has the same labels, not only equal ones, in every layout: the ledger tells by it that nothing changed. */
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
    known.throttleInTick = undefined;
  }
}

function readXids(
  { values, presence: states }: Frame,
  { xids }: PlannedGpu,
  known: TrackedReadings,
  isSlow: boolean,
): void {
  // Nearly always there were none and are none.
  if (xids.length === 0 && (!isSlow || known.xidsInTick === noCounts)) return;
  if (isSlow) known.xids = {};
  for (const { slot, xid } of xids)
    if (states[slot] === presence.present) known.xids[xid] = values[slot] ?? 0;
  known.xidsInTick = undefined;
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

const emptyReadings = (timeMs: number): TrackedReadings => ({
  device: undefined,
  values: new Float64Array(placeCount).fill(Number.NaN),
  timeMs,
  tickMs: timeMs,
  utilizationSum: 0,
  utilizationCount: 0,
  throttleSeconds: undefined,
  xids: {},
  throttleInTick: undefined,
  xidsInTick: undefined,
  hasHardwareMeter: false,
  owners: [],
  partOwners: new Map(),
  fast: undefined,
});
