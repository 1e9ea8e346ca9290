/**
 * Converts frames to ticks. A fast frame is only stored, and its utilisation is summed if no SM activity is reported; its other
 * readings are evaluated when a frame of the slow tier arrives, which has the owners, or every `fastReadMs` if a source has no
 * slow tier. Such a reading becomes a tick if something changed: another owner, a meter reset, another hour. Otherwise readings
 * are accumulated, for at most `mostDelayMs`, and become one tick with their means and idle time: it gives the same seconds
 * and joules as a tick per reading, with fewer ticks. Accumulated readings are in the journal as `unchanged`.
 *
 * A reading that changes nothing allocates nothing and compares no text: 2,000 GPUs have 400 a second.
 */
import type { OwnerLabels } from "../../machine/owners/gpu-owners.ts";
import { type Device, deviceKey } from "../../model/device.ts";
import type { Frame } from "../../model/frame.ts";
import type { Layout } from "../../model/layout.ts";
import { presence } from "../../model/presence.ts";
import type {
  FrameChanges,
  FrameTicksOptions,
  GpuName,
  LastTick,
  TickDelivery,
} from "./frame-ticks-options.ts";
import { column, GpuRows, plainColumns } from "./gpu-rows.ts";
import { type JobGpuPlan, planLayout } from "./layout-plan.ts";
import { defaultLedgerOptions } from "./ledger-options.ts";
import { hourMs } from "./record.ts";
import type { GpuTick, TickOwner } from "./tick.ts";
import {
  addUtilization,
  allOwners,
  emptyReadings,
  findDevice,
  gpuFlag,
  ifPlanned,
  isPresent,
  layoutPlan,
  type LayoutPlan,
  noCounts,
  orAbsent,
  ownersIn,
  readAt,
  readThrottling,
  readXids,
  reuseLabels,
  slotOf,
  slotsPerGpu,
  type TrackedReadings,
  unknownOwners,
  withoutZeros,
} from "./tracked-readings.ts";

/** The read interval of a source without a slow tier. */
const fastReadMs = 15_000;
/** A GPU that has not reported for this long is forgotten. */
const forgetMs = 3_600_000;
/** The default of `mostDelayMs`. */
const longestDelayMs = 300_000;
/** A tick with more accumulated time than this says so, as it would be a gap for the ledger. */
const plainTickMs = defaultLedgerOptions.gapMs;
/** Readings further apart become ticks of their own; must be below the ledger's gap. */
const mostApartMs = 30_000;

const noChanges: FrameChanges = { ticks: [], unchanged: undefined };
const nobody: readonly TickOwner[] = [];

const unchangedArrays = (gpus: number) => ({
  indexes: new Int32Array(gpus),
  joules: new Float64Array(gpus),
  idle: new Uint8Array(gpus),
});

export class FrameTicks {
  readonly #plans = new WeakMap<Layout, LayoutPlan>();
  readonly #gpus = new Map<string, TrackedReadings>();
  /** The last GPU that reported under a UUID: avoids building a key for every GPU of a new layout. */
  readonly #byUuid = new Map<string, TrackedReadings>();
  /** The GPUs of the last layout of each machine, usually those of its next one: avoids a lookup per GPU. */
  readonly #byHost = new Map<string, readonly TrackedReadings[]>();
  /** The GPUs of the current frame of which only the meter has changed. */
  #unchanged = unchangedArrays(64);
  readonly #rows = new GpuRows();
  readonly #anomaliesOf: (gpu: GpuName) => readonly string[];
  readonly #lastTickOf: (gpu: GpuName) => LastTick | undefined;
  readonly #floorRatio: number;
  readonly #isUrgent: (host: string) => boolean;
  readonly #mostDelayMs: () => number;
  readonly #indexOf: (key: string) => number;
  /** `mostDelayMs` for the current frame. */
  #delayMs = longestDelayMs;
  #sweptMs = 0;
  #generation = 0;

  constructor(options: FrameTicksOptions = {}) {
    this.#anomaliesOf = options.anomaliesOf ?? (() => []);
    this.#lastTickOf = options.lastTickOf ?? (() => undefined);
    this.#floorRatio = options.floorRatio ?? defaultLedgerOptions.floorRatio;
    this.#isUrgent = options.isUrgent ?? (() => false);
    this.#mostDelayMs = options.mostDelayMs ?? (() => longestDelayMs);
    this.#indexOf = options.indexOf ?? (() => 0);
  }

  take({ frame, devices, tier, isExposed }: TickDelivery): FrameChanges {
    let plan = this.#plans.get(frame.layout);
    if (plan === undefined) this.#plans.set(frame.layout, (plan = this.#plan(frame)));
    // Some sources report slow metrics in fast frames; a scraped frame contains all tiers.
    const isFast = tier === "fast" && isExposed !== false;
    if (plan.needsUtilization) addUtilization(plan, frame);
    if (isFast) {
      plan.unread = frame;
      if (frame.timeMs < plan.dueMs) return noChanges;
    }
    return this.#read(plan, frame, devices, isFast);
  }

  /** Returns the accumulated readings as ticks, for example before a query. */
  flush(): GpuTick[] {
    const ticks: GpuTick[] = [];
    for (const known of this.#gpus.values()) this.#flushGpu(known, ticks);
    return ticks;
  }

  /** The next reading of this GPU becomes a tick, for example since something outside the frames has changed. */
  tickNext(key: string): void {
    const known = this.#gpus.get(key);
    if (known !== undefined) known.generation = -1;
  }

  /** The journal was replaced: the next reading of every GPU is written as a complete tick. */
  restart(): void {
    this.#generation++;
  }

  #plan(frame: Frame): LayoutPlan {
    const gpus = planLayout(frame.layout);
    const tracked: TrackedReadings[] = [];
    const host = gpus[0]?.host ?? "";
    const before = this.#byHost.get(host);
    for (const [at, planned] of gpus.entries()) {
      const known =
        ifPlanned(before?.[at], planned) ??
        ifPlanned(this.#byUuid.get(planned.uuid), planned) ??
        this.#gpus.get(deviceKey(planned.host, planned.uuid)) ??
        this.#track(planned, frame.timeMs);
      reuseLabels(planned, known);
      tracked.push(known);
    }
    if (before?.length !== tracked.length || before.some((known, at) => known !== tracked[at]))
      this.#byHost.set(host, tracked);
    return layoutPlan(gpus, tracked);
  }

  #track(planned: JobGpuPlan, timeMs: number): TrackedReadings {
    const known = emptyReadings(planned, this.#rows.add());
    this.#start(known, timeMs);
    return known;
  }

  #start(known: TrackedReadings, timeMs: number): void {
    const { row } = known;
    const { numbers } = this.#rows;
    numbers[row + column.reportMs] = timeMs;
    const last = this.#lastTickOf(known);
    if (last !== undefined) {
      numbers[row + column.readMs] = numbers[row + column.tickMs] = last.timeMs;
      numbers[row + column.readJoules] = last.joules;
      known.meter = last.meter;
    }
    known.journalIndex = this.#indexOf(known.key);
    this.#gpus.set(known.key, known);
    this.#byUuid.set(known.uuid, known);
  }

  #read(plan: LayoutPlan, frame: Frame, devices: readonly Device[], isFast: boolean): FrameChanges {
    const { gpus, tracked } = plan;
    const { timeMs } = frame;
    const ticks: GpuTick[] = [];
    if (gpus.length > this.#unchanged.idle.length) this.#unchanged = unchangedArrays(gpus.length);
    const { indexes, joules, idle } = this.#unchanged;
    this.#delayMs = this.#mostDelayMs();
    let count = 0;
    let urgentHost: string | undefined;
    let isUrgent = false;
    let dueMs = Number.POSITIVE_INFINITY;
    let needsUtilization = false;
    for (let at = 0; at < gpus.length; at++) {
      const known = tracked[at];
      if (known === undefined) continue;
      if (known.isForgotten) this.#remember(known, timeMs);
      if (isFast) {
        known.fastPlan = plan;
        known.fastAt = at;
      } else if (known.fastPlan !== undefined) this.#readLatest(known, known.fastPlan);
      if (!isFast || timeMs - this.#readMsOf(known) >= fastReadMs) {
        this.#moveUtilization(plan, at, known, frame);
        if (known.device === undefined) findDevice(known, devices);
        if (known.host !== urgentHost) isUrgent = this.#isUrgent((urgentHost = known.host));
        if (this.#readGpu(frame, plan, at, known, isFast, isUrgent, ticks)) {
          indexes[count] = known.journalIndex;
          joules[count] = this.#rows.numbers[known.row + column.readJoules] ?? 0;
          idle[count] = known.hasActivity && !known.isUsed ? 1 : 0;
          count++;
        }
      }
      if (!isFast) continue;
      dueMs = Math.min(dueMs, this.#readMsOf(known) + fastReadMs);
      if (Number.isNaN(this.#rows.numbers[known.row + column.smRatio])) needsUtilization = true;
    }
    if (isFast) {
      plan.dueMs = dueMs;
      plan.needsUtilization = needsUtilization;
    }
    if (timeMs - this.#sweptMs >= forgetMs) this.#sweep(timeMs, ticks);
    if (count === 0) return ticks.length === 0 ? noChanges : { ticks, unchanged: undefined };
    return { ticks, unchanged: { timeMs, count, indexes, joules, idle } };
  }

  /** Tracks a GPU again that was forgotten after a long silence. */
  #remember(known: TrackedReadings, timeMs: number): void {
    Object.assign(known, emptyReadings(known, this.#rows.add()), { owners: known.owners });
    this.#start(known, timeMs);
  }

  #readMsOf({ row, meter }: TrackedReadings): number {
    return this.#rows.numbers[row + (meter === undefined ? column.reportMs : column.readMs)] ?? 0;
  }

  /** Applies the newest fast frame. */
  #readLatest(known: TrackedReadings, plan: LayoutPlan): void {
    const { unread } = plan;
    if (unread === undefined) return;
    this.#moveUtilization(plan, known.fastAt, known, unread);
    this.#readPlain(unread, plan, known.fastAt, known);
  }

  #moveUtilization(plan: LayoutPlan, at: number, { row }: TrackedReadings, frame: Frame): void {
    const { utilizationSlots: slots, utilizationSums: sums } = plan;
    if (at >= slots.length) return;
    const { numbers } = this.#rows;
    const to = row + column.utilization;
    let sum = sums[2 * at] ?? 0;
    let count = sums[2 * at + 1] ?? 0;
    sums[2 * at] = sums[2 * at + 1] = 0;
    const slot = slots[at] ?? -1;
    // Nothing was summed because SM activity was reported: if it no longer is, use the newest utilisation.
    if (count === 0 && numbers[to + 1] === 0 && isPresent(frame, slot)) {
      sum = frame.values[slot] ?? 0;
      count = 1;
    }
    numbers[to] = (numbers[to] ?? 0) + sum;
    numbers[to + 1] = (numbers[to + 1] ?? 0) + count;
  }

  #readPlain(frame: Frame, plan: LayoutPlan, at: number, known: TrackedReadings): void {
    const { values, presence: states, timeMs } = frame;
    const { slots } = plan;
    const { numbers } = this.#rows;
    const { row } = known;
    const first = at * slotsPerGpu;
    if (timeMs > (numbers[row + column.reportMs] ?? 0)) numbers[row + column.reportMs] = timeMs;
    for (let to = 0; to < plainColumns; to++) {
      const slot = slots[first + to] ?? -1;
      if (slot >= 0)
        numbers[row + to] =
          states[slot] === presence.present ? (values[slot] ?? Number.NaN) : Number.NaN;
    }
    if (!known.hasHardwareMeter)
      known.hasHardwareMeter = !Number.isNaN(numbers[row + column.hardwareJoules]);
    if (((plan.flags[at] ?? 0) & gpuFlag.throttling) !== 0) {
      known.newCounters = frame;
      known.newCountersPlan = plan.gpus[at];
    }
  }

  /** Returns true if only the meter has changed. */
  #readGpu(
    frame: Frame,
    plan: LayoutPlan,
    at: number,
    known: TrackedReadings,
    isFast: boolean,
    isUrgent: boolean,
    ticks: GpuTick[],
  ): boolean {
    const flags = plan.flags[at] ?? 0;
    const isSlow = !isFast && (flags & gpuFlag.slow) !== 0;
    this.#readPlain(frame, plan, at, known);
    // Usually there are no Xids and were none.
    if ((flags & gpuFlag.xids) !== 0 || (isSlow && known.xidsNow !== noCounts))
      readXids(frame, plan.gpus[at], known, isSlow);
    if (known.isPart) {
      if (isSlow) this.#readPart(frame, plan.gpus[at], known);
      return false;
    }
    if (!isSlow && frame.timeMs - this.#readMsOf(known) < fastReadMs) return false;
    const from = known.hasHardwareMeter ? column.hardwareJoules : column.integratedJoules;
    const joules = this.#rows.numbers[known.row + from] ?? Number.NaN;
    if (Number.isNaN(joules)) return false;
    return this.#takeReading(frame, plan, at, known, joules, isSlow, isUrgent, ticks);
  }

  /** The owners of a partition are owners of the whole GPU. */
  #readPart(frame: Frame, planned: JobGpuPlan | undefined, { device }: TrackedReadings): void {
    if (planned === undefined) return;
    const whole = this.#gpus.get(deviceKey(planned.host, device?.parent ?? ""));
    if (whole !== undefined)
      (whole.partOwners ??= new Map()).set(planned.uuid, ownersIn(frame, planned) ?? []);
  }

  #takeReading(
    frame: Frame,
    plan: LayoutPlan,
    at: number,
    known: TrackedReadings,
    joules: number,
    isSlow: boolean,
    isUrgent: boolean,
    ticks: GpuTick[],
  ): boolean {
    const { row } = known;
    const rows = this.#rows;
    const { numbers } = rows;
    const { timeMs } = frame;
    const { slots } = plan;
    const first = at * slotsPerGpu;
    const meter = known.hasHardwareMeter ? "hardware" : "integrated";
    const beforeMs = numbers[row + column.readMs] ?? Number.NaN;
    const beforeJoules = numbers[row + column.readJoules] ?? 0;
    // A duplicate or out-of-order reading.
    if (known.meter === meter && timeMs <= beforeMs && joules <= beforeJoules) return false;
    let ownerCount = unknownOwners;
    let labels: OwnerLabels | undefined;
    let sharedOwners: readonly TickOwner[] | undefined;
    if (((plan.flags[at] ?? 0) & gpuFlag.shared) !== 0 || known.partOwners !== undefined) {
      sharedOwners = allOwners(frame, plan.gpus[at], known);
      ownerCount = sharedOwners.length;
      if (ownerCount === 1) labels = sharedOwners[0]?.labels;
    } else if (plan.labels[at] !== undefined) {
      ownerCount = isPresent(frame, slots[first + slotOf.owner] ?? -1) ? 1 : 0;
      if (ownerCount === 1) labels = plan.labels[at];
    } else if (
      isPresent(frame, slots[first + slotOf.processes] ?? -1) ||
      (isSlow && known.device?.simulated === true)
    )
      ownerCount = 0;
    const activity = this.#activityOf(row);
    const hasActivity = !Number.isNaN(activity);
    const isUsed = activity > this.#floorRatio;
    const xids = (known.xidsNow ??= withoutZeros(known.xids));
    const goesOn =
      known.meter === meter &&
      known.hasActivity === hasActivity &&
      joules >= beforeJoules &&
      timeMs > beforeMs &&
      timeMs - beforeMs <= mostApartMs &&
      ownerCount <= 1 &&
      known.ownerCount === ownerCount &&
      known.labels === labels &&
      Math.floor(beforeMs / hourMs) === Math.floor(timeMs / hourMs);
    const isFar = timeMs - (numbers[row + column.tickMs] ?? 0) > this.#delayMs;
    if (!goesOn || isFar) this.#flushGpu(known, ticks);
    // The first reading after a tick has nothing to be mixed with.
    else if (isUsed !== known.isUsed && beforeMs !== numbers[row + column.tickMs])
      known.isMixed = true;
    if (goesOn && hasActivity && !isUsed) {
      numbers[row + column.idleMs] = (numbers[row + column.idleMs] ?? 0) + timeMs - beforeMs;
      if (Number.isNaN(numbers[row + column.idleSinceMs]))
        numbers[row + column.idleSinceMs] = beforeMs;
    } else numbers[row + column.idleSinceMs] = Number.NaN;
    rows.addTo(row, column.activity, activity);
    rows.addTo(row, column.tensor, numbers[row + column.tensorRatio] ?? Number.NaN);
    rows.addTo(row, column.dram, numbers[row + column.dramRatio] ?? Number.NaN);
    const memoryBytes = numbers[row + column.memoryBytes] ?? Number.NaN;
    rows.addTo(row, column.memory, memoryBytes);
    rows.grow(row, column.peakMemory, memoryBytes);
    if (ownerCount === 1) {
      const shared = sharedOwners?.[0];
      const ownerBytes =
        shared === undefined
          ? readAt(frame, slots[first + slotOf.ownerMemory])
          : (shared.memoryBytes ?? Number.NaN);
      rows.addTo(row, column.ownerMemory, ownerBytes);
      rows.grow(row, column.peakOwnerMemory, ownerBytes);
      numbers[row + column.ownerUtilization] =
        shared === undefined
          ? readAt(frame, slots[first + slotOf.ownerUtilization])
          : (shared.utilizationRatio ?? Number.NaN);
    }
    const isSameXids = known.xidsRead === xids;
    numbers[row + column.readMs] = timeMs;
    numbers[row + column.readJoules] = joules;
    known.meter = meter;
    known.hasActivity = hasActivity;
    known.isUsed = isUsed;
    known.ownerCount = ownerCount;
    known.labels = labels;
    known.sharedOwners = sharedOwners;
    known.readCounters = known.newCounters;
    known.readCountersPlan = known.newCountersPlan;
    known.xidsRead = xids;
    if (
      goesOn &&
      isSameXids &&
      timeMs - (numbers[row + column.tickMs] ?? 0) < this.#delayMs &&
      known.generation === this.#generation &&
      !isUrgent
    )
      return true;
    ticks.push(this.#tick(known, goesOn));
    return false;
  }

  /** SM activity, else the mean utilisation since the last reading; NaN if neither is reported. */
  #activityOf(row: number): number {
    const { numbers } = this.#rows;
    const smRatio = numbers[row + column.smRatio] ?? Number.NaN;
    const to = row + column.utilization;
    const sum = numbers[to] ?? 0;
    const count = numbers[to + 1] ?? 0;
    numbers[to] = numbers[to + 1] = 0;
    return Number.isNaN(smRatio) && count > 0 ? sum / count : smRatio;
  }

  #flushGpu(known: TrackedReadings, ticks: GpuTick[]): void {
    const { numbers } = this.#rows;
    const { row, meter } = known;
    if (meter !== undefined && numbers[row + column.readMs] !== numbers[row + column.tickMs])
      ticks.push(this.#tick(known, true));
  }

  /**
   * The tick of the last reading, including those since the previous tick.
   *
   * @param goesOn false if nothing was accumulated, as the last reading differs from the one before it
   */
  #tick(known: TrackedReadings, goesOn: boolean): GpuTick {
    const rows = this.#rows;
    const { numbers } = rows;
    const { row } = known;
    const timeMs = numbers[row + column.readMs] ?? 0;
    const tickMs = numbers[row + column.tickMs] ?? Number.NaN;
    const anomalies = this.#anomaliesOf(known);
    // The same shape for all ticks, so that V8 optimizes the code that reads them.
    const tick: GpuTick = {
      uuid: known.uuid,
      host: known.host,
      gpu: known.gpu,
      model: known.device?.model ?? "unknown",
      simulated: known.device?.simulated === true,
      timeMs,
      joules: numbers[row + column.readJoules] ?? 0,
      meter: known.meter ?? "integrated",
      coveredFromMs: goesOn && timeMs - tickMs > plainTickMs ? tickMs : undefined,
      activityRatio: rows.mean(row, column.activity),
      tensorRatio: rows.mean(row, column.tensor),
      dramRatio: rows.mean(row, column.dram),
      idleMs: known.isMixed ? numbers[row + column.idleMs] : undefined,
      idleSinceMs: known.isMixed ? orAbsent(numbers[row + column.idleSinceMs]) : undefined,
      memoryBytes: rows.mean(row, column.memory),
      peakMemoryBytes: rows.peak(row, column.memory, column.peakMemory),
      throttleSeconds: readThrottling(known),
      xids: known.xidsRead,
      anomalies: anomalies.length === 0 ? undefined : anomalies,
      owners: this.#ownersOf(known),
    };
    rows.clearSums(row);
    known.isMixed = false;
    numbers[row + column.tickMs] = timeMs;
    known.generation = this.#generation;
    return tick;
  }

  #ownersOf({ row, ownerCount, labels, sharedOwners }: TrackedReadings) {
    if (ownerCount === unknownOwners) return undefined;
    if (ownerCount === 0) return nobody;
    if (labels === undefined) return sharedOwners;
    const rows = this.#rows;
    return [
      {
        labels,
        memoryBytes: rows.mean(row, column.ownerMemory),
        peakMemoryBytes: rows.peak(row, column.ownerMemory, column.peakOwnerMemory),
        utilizationRatio: orAbsent(rows.numbers[row + column.ownerUtilization]),
      },
    ];
  }

  #sweep(nowMs: number, ticks: GpuTick[]): void {
    this.#sweptMs = nowMs;
    for (const [key, known] of this.#gpus) {
      if (nowMs - (this.#rows.numbers[known.row + column.reportMs] ?? 0) <= forgetMs) continue;
      this.#flushGpu(known, ticks);
      this.#gpus.delete(key);
      if (this.#byUuid.get(known.uuid) === known) this.#byUuid.delete(known.uuid);
      this.#byHost.delete(known.host);
      this.#rows.remove(known.row);
      known.isForgotten = true;
    }
  }
}
