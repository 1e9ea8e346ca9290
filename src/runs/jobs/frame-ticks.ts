/**
 * From frames to ticks. A fast frame is only remembered, and its utilisation added up; its other readings are looked at when a
 * tick is made: when a frame of the slow tier comes, which has the owners, or every `fastTickMs` where a source has no such
 * tier. Holds only the newest readings, so a restart loses nothing that the meters do not make up for.
 */
import { type Device, deviceKey } from "../../model/device.ts";
import { gpu as metrics, type MetricEntry } from "../../model/catalogue/index.ts";
import type { Frame } from "../../model/frame.ts";
import { type LabelSet, labelValue } from "../../model/labels.ts";
import type { Layout } from "../../model/layout.ts";
import { presence } from "../../model/presence.ts";
import type { Delivery } from "../../pipeline/sink.ts";
import type { OwnerLabels } from "../../machine/owners/gpu-owners.ts";
import type { GpuTick, TickOwner } from "./tick.ts";

/** A source without a slow tier makes a tick this often. */
const fastTickMs = 15_000;
/** A GPU that has not reported for this long is forgotten. */
const forgetMs = 3_600_000;

/** Metrics of the slow tier that gpulse derives and sends in frames of their own. */
const derived = /^gpu_(health|check|anomaly|temperature_at_load)/;

const plainMetrics: ReadonlyMap<MetricEntry, keyof NewestReadings> = new Map<
  MetricEntry,
  keyof NewestReadings
>([
  [metrics.energy, "hardwareJoules"],
  [metrics.energyIntegrated, "integratedJoules"],
  [metrics.smActivity, "smRatio"],
  [metrics.tensorActivity, "tensorRatio"],
  [metrics.dramActivity, "dramRatio"],
  [metrics.memoryUsed, "memoryBytes"],
]);

interface NewestReadings {
  hardwareJoules?: number | undefined;
  integratedJoules?: number | undefined;
  smRatio?: number | undefined;
  tensorRatio?: number | undefined;
  dramRatio?: number | undefined;
  memoryBytes?: number | undefined;
}

interface PlannedOwner {
  readonly labels: OwnerLabels;
  infoSlot: number;
  memorySlot: number;
  utilizationSlot: number;
}

interface PlannedGpu {
  readonly uuid: string;
  readonly host: string;
  readonly gpu: number;
  readonly key: string;
  readonly plain: { readonly slot: number; readonly field: keyof NewestReadings }[];
  readonly throttle: { readonly slot: number; readonly reason: string }[];
  readonly xids: { readonly slot: number; readonly xid: string }[];
  readonly owners: Map<string, PlannedOwner>;
  utilization: number;
  processes: number;
  /** Has readings of the slow tier, so that its owners are those in this frame. */
  isSlow: boolean;
}

interface TrackedReadings extends NewestReadings {
  device: Device | undefined;
  timeMs: number;
  tickMs: number;
  utilizationSum: number;
  utilizationCount: number;
  throttleSeconds: Record<string, number> | undefined;
  xids: Record<string, number>;
  /** The hardware's counter is used wherever it was seen once. */
  hasHardwareMeter: boolean;
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
    const ticks: GpuTick[] = [];
    let dueMs = Number.POSITIVE_INFINITY;
    plan.gpus.forEach((planned, at) => {
      const known = plan.tracked[at] ?? emptyReadings(frame.timeMs);
      // It was forgotten while it was silent.
      if (frame.timeMs - known.timeMs > forgetMs) this.#gpus.set(planned.key, known);
      if (isFast) known.fast = { plan, at };
      else if (known.fast !== undefined) readLatest(known.fast);
      moveUtilization(plan, at, known);
      const tick = this.#takeGpu(frame, planned, known, devices, isFast);
      if (tick !== undefined) ticks.push(tick);
      dueMs = Math.min(dueMs, known.tickMs + fastTickMs);
    });
    plan.dueMs = dueMs;
    this.#sweep(frame.timeMs);
    return ticks;
  }

  #plan(frame: Frame): LayoutPlan {
    const gpus = planLayout(frame.layout);
    const tracked = gpus.map(({ key }) => {
      let known = this.#gpus.get(key);
      if (known === undefined) this.#gpus.set(key, (known = emptyReadings(frame.timeMs)));
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
    known.device ??= devices.find(({ uuid }) => uuid === planned.uuid);
    known.timeMs = Math.max(known.timeMs, frame.timeMs);
    const { values, presence: states } = frame;
    readPlain(frame, planned, known);
    if (isSlow) known.xids = {};
    for (const { slot, xid } of planned.xids)
      if (states[slot] === presence.present) known.xids[xid] = values[slot] ?? 0;
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
    const joules = known.hasHardwareMeter ? known.hardwareJoules : known.integratedJoules;
    if (joules === undefined) return undefined;
    const isSimulated = known.device?.simulated === true;
    const own = ownersIn(frame, planned) ?? (isSlow && isSimulated ? [] : undefined);
    const owners =
      known.partOwners.size === 0
        ? own
        : [...(own ?? []), ...[...known.partOwners.values()].flat()];
    const { utilizationSum, utilizationCount } = known;
    const activityRatio =
      known.smRatio ?? (utilizationCount === 0 ? undefined : utilizationSum / utilizationCount);
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
      tensorRatio: known.tensorRatio,
      dramRatio: known.dramRatio,
      memoryBytes: known.memoryBytes,
      throttleSeconds: known.throttleSeconds && withoutZeros(known.throttleSeconds),
      xids: withoutZeros(known.xids),
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

function readPlain(frame: Frame, planned: PlannedGpu, known: TrackedReadings): void {
  const { values, presence: states } = frame;
  for (const { slot, field } of planned.plain)
    known[field] = states[slot] === presence.present ? values[slot] : undefined;
  known.hasHardwareMeter ||= known.hardwareJoules !== undefined;
  for (const { slot, reason } of planned.throttle)
    if (states[slot] === presence.present)
      (known.throttleSeconds ??= {})[reason] = values[slot] ?? 0;
}

const noCounts: Readonly<Record<string, number>> = {};

/** A counter that is not there counts from 0. */
function withoutZeros(counts: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  let found: Record<string, number> | undefined;
  for (const name in counts) if (counts[name] !== 0) (found ??= {})[name] = counts[name] ?? 0;
  return found ?? noCounts;
}

/** Undefined where the frame does not say who uses the GPU. */
function ownersIn(frame: Frame, { owners, processes }: PlannedGpu): TickOwner[] | undefined {
  const isPresent = (slot: number): boolean =>
    slot >= 0 && frame.presence[slot] === presence.present;
  if (owners.size === 0) return isPresent(processes) ? [] : undefined;
  const value = (slot: number): number | undefined =>
    isPresent(slot) ? frame.values[slot] : undefined;
  const found: TickOwner[] = [];
  for (const { labels, infoSlot, memorySlot, utilizationSlot } of owners.values()) {
    if (!isPresent(infoSlot)) continue;
    const memoryBytes = value(memorySlot);
    const utilizationRatio = value(utilizationSlot);
    found.push({ labels, memoryBytes, utilizationRatio });
  }
  return found;
}

const ownerNames = ["namespace", "pod", "container", "workload", "user"] as const;

function ownerLabelsOf(labels: LabelSet): OwnerLabels {
  const found: Partial<Record<(typeof ownerNames)[number], string>> = {};
  for (const name of ownerNames) {
    const value = labelValue(labels, name);
    if (value !== undefined) found[name] = value;
  }
  return found;
}

function planLayout(layout: Layout): readonly PlannedGpu[] {
  const gpus = new Map<string, PlannedGpu>();
  layout.series.forEach(({ metric, labels }, slot) => {
    const uuid = metric.subject === "device" ? labelValue(labels, "uuid") : undefined;
    if (uuid === undefined) return;
    const host = labelValue(labels, "host") ?? "";
    const key = deviceKey(host, uuid);
    let planned = gpus.get(key);
    if (planned === undefined) {
      const index = Number(labelValue(labels, "gpu") ?? 0);
      gpus.set(key, (planned = emptyPlan(uuid, host, Number.isInteger(index) ? index : 0, key)));
    }
    planGpu(planned, metric, labels, slot);
  });
  return [...gpus.values()].filter(isOfUse);
}

/** Frames of verdicts and other derived values name GPUs too, and say nothing here. */
const isOfUse = ({ isSlow, plain, throttle, utilization, owners }: PlannedGpu): boolean =>
  isSlow || plain.length > 0 || throttle.length > 0 || utilization >= 0 || owners.size > 0;

function planGpu(planned: PlannedGpu, metric: MetricEntry, labels: LabelSet, slot: number): void {
  if (metric.tier === "slow" && !derived.test(metric.name)) planned.isSlow = true;
  const field = plainMetrics.get(metric);
  if (field !== undefined) planned.plain.push({ slot, field });
  else if (metric === metrics.utilization) planned.utilization = slot;
  else if (metric === metrics.processes) planned.processes = slot;
  else if (metric === metrics.throttleSeconds)
    planned.throttle.push({ slot, reason: labelValue(labels, "reason") ?? "" });
  else if (metric === metrics.xidErrors)
    planned.xids.push({ slot, xid: labelValue(labels, "xid") ?? "" });
  else if (
    metric === metrics.ownerInfo ||
    metric === metrics.ownerMemory ||
    metric === metrics.ownerUtilization
  ) {
    const owner = ownerLabelsOf(labels);
    const key = JSON.stringify(owner);
    const found = planned.owners.get(key) ?? {
      labels: owner,
      infoSlot: -1,
      memorySlot: -1,
      utilizationSlot: -1,
    };
    planned.owners.set(key, found);
    if (metric === metrics.ownerInfo) found.infoSlot = slot;
    else if (metric === metrics.ownerMemory) found.memorySlot = slot;
    else found.utilizationSlot = slot;
  }
}

const emptyPlan = (uuid: string, host: string, gpu: number, key: string): PlannedGpu => ({
  uuid,
  host,
  gpu,
  key,
  plain: [],
  throttle: [],
  xids: [],
  owners: new Map(),
  utilization: -1,
  processes: -1,
  isSlow: false,
});

const emptyReadings = (timeMs: number): TrackedReadings => ({
  device: undefined,
  timeMs,
  tickMs: timeMs,
  utilizationSum: 0,
  utilizationCount: 0,
  throttleSeconds: undefined,
  xids: {},
  hasHardwareMeter: false,
  partOwners: new Map(),
  fast: undefined,
});
