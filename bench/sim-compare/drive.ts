/**
 * Turns recorded phases into demand. The phases define what ran; the trace's own utilisation, if enabled, shows when it stalled.
 */
import {
  busyAt,
  findKernelName,
  inferKernel,
  kernels,
  type Kernel,
  type ActivityPattern,
} from "../../src/sources/sim/kernels.ts";
import { type Demand, dynamicScale, noDemand } from "../../src/sources/sim/physics/card.ts";
import type { GpuModel } from "../../src/sources/sim/physics/model.ts";
import {
  clockRefreshes,
  inferActivity,
  memoryBusyAt,
  type PhaseActivity,
  undetermined,
  utilizationRefreshes,
  workReadings,
} from "./activity.ts";
import { type PowerSlot, powerSlots } from "./power-slots.ts";
import { usualLagMs, utilizationLagMs } from "./lag.ts";
import { type Phase, rowAt, type TraceRow } from "./trace.ts";
import { busyShareByWork } from "./work.ts";

/** The mean delay until a poll every 50 ms sees a refresh. */
const readingSeenMs = 25;
/** Leakage of a die at 50 °C relative to the reference temperature. */
const usualLeakage = 1.45;
/** Beyond this, single temperature readings of a phase depend on an unknown timing. */
const mostUncertainty = 0.25;
/** Three refreshes of the utilisation, which determine how busy the card was within a span of this length. */
const resolvedSpanMs = 600;
/** The first reading that is entirely within the new phase. */
const utilizationSettledMs = 500;
const contextBytes = 200 * 1_048_576;
/** Points evaluated within one step, so that an edge inside a step counts for the part it covers. */
const points = 5;

export interface DriveOptions {
  /** True to time the stalls and bursts inside a phase by the trace's utilisation column. */
  readonly useUtilization: boolean;
}

export class Drive {
  readonly #phases: readonly Phase[];
  readonly #rows: readonly TraceRow[];
  readonly #useUtilization: boolean;
  readonly #contextAbove: number;
  readonly #lagMs: ReadonlyMap<Phase, number>;
  readonly #workReadings: ReadonlyMap<Phase, readonly TraceRow[]>;
  readonly #activities: ReadonlyMap<Phase, PhaseActivity | undefined>;
  readonly #timings: ReadonlyMap<Phase, TimedPhase | undefined>;
  /** Phases whose work switches faster than the registers are refreshed, without recorded times. */
  readonly #untimed: ReadonlySet<Phase>;
  readonly #model: GpuModel;
  readonly #slots: readonly PowerSlot[];
  /** The factor by which counted steps correct the busy share of unnamed work. */
  readonly #corrections = new Map<Phase, number>();

  constructor(
    phases: readonly Phase[],
    rows: readonly TraceRow[],
    model: GpuModel,
    options: DriveOptions,
  ) {
    this.#phases = phases;
    this.#rows = rows;
    this.#useUtilization = options.useUtilization;
    this.#lagMs = new Map(
      phases.map((phase) => [phase, utilizationLagMs(phase, rows, model.power.windowMs)]),
    );
    this.#model = model;
    const slots = powerSlots(rows, model.power.limitWatts);
    this.#slots = slots;
    this.#workReadings = new Map(
      phases.map((phase) => [
        phase,
        workReadings(rows.filter(({ timeMs }) => timeMs >= phase.startMs && timeMs < phase.endMs)),
      ]),
    );
    this.#activities = new Map(
      phases.map((phase) => [phase, inferActivity(phase, rows, model.clocks.boostHertz, slots)]),
    );
    this.#timings = new Map(phases.map((phase) => [phase, timingOf(phase, rows)]));
    this.#untimed = new Set(
      phases.filter(
        (phase) =>
          phase.busyMs === undefined &&
          undetermined(phase, rows) === undefined &&
          this.#timings.get(phase) === undefined &&
          (this.#activities.get(phase)?.uncertainty ?? 0) > mostUncertainty,
      ),
    );
    const least = rows.reduce(
      (min, row) => Math.min(min, row.memoryBytes),
      Number.POSITIVE_INFINITY,
    );
    this.#contextAbove =
      least < model.memory.reservedBytes + contextBytes ? least + contextBytes : -1;
    if (options.useUtilization) this.#correctByWork();
  }

  #correctByWork(): void {
    const references = this.#phases.flatMap((phase) => {
      const name = findKernelName(phase.name);
      const steady =
        name !== undefined && name !== "idle" && kernels[name].pattern.kind === "steady";
      return steady || this.#timings.get(phase) !== undefined
        ? [{ phase, busyShare: this.#meanShare(phase) }]
        : [];
    });
    for (const phase of this.#phases) {
      if (findKernelName(phase.name) !== undefined || this.#timings.get(phase) !== undefined)
        continue;
      const shown = this.#meanShare(phase);
      const counted = busyShareByWork(phase, this.#rows, shown, references);
      if (counted !== undefined) this.#corrections.set(phase, counted / shown);
    }
  }

  #meanShare(phase: Phase): number {
    let [sum, count] = [0, 0];
    for (let timeMs = phase.startMs; timeMs < phase.endMs; timeMs += originStepMs, count++)
      sum += this.#at(timeMs).share;
    return sum / count;
  }

  /** Why a phase's load is too uncertain to judge the simulator by; undefined if it is not. */
  undetermined(phase: Phase): string | undefined {
    const name = findKernelName(phase.name);
    if (
      name !== undefined ||
      this.#timings.get(phase) !== undefined ||
      this.#corrections.has(phase)
    )
      return undefined;
    return undetermined(phase, this.#rows);
  }

  /** True if the busy times around this instant are known to better than 100 ms. */
  isTimed(timeMs: number): boolean {
    return ![...this.#untimed].some(({ startMs, endMs }) => timeMs >= startMs && timeMs < endMs);
  }

  holdsContext(timeMs: number): boolean {
    return rowAt(this.#rows, timeMs).memoryBytes > this.#contextAbove;
  }

  /** The mean demand over one step. */
  over(startMs: number, stepMs: number): Demand {
    const demand = noDemand();
    let busy = 0;
    for (let point = 0; point < points; point++) {
      const timeMs = startMs + ((point + 0.5) * stepMs) / points;
      const { kernel, share } = this.#at(timeMs);
      busy += share;
      demand.core += share * kernel.core;
      demand.dram += share * kernel.dram;
      demand.memoryBusy += share * kernel.memoryBusy;
      demand.tensor += share * kernel.tensor;
      demand.receive += (share * kernel.receive) / points;
      demand.transmit += (share * kernel.transmit) / points;
    }
    if (busy > 0) {
      demand.core /= busy;
      demand.dram /= busy;
      demand.memoryBusy /= busy;
      demand.tensor /= busy;
    }
    demand.busy = busy / points;
    demand.memoryBytes = rowAt(this.#rows, startMs).memoryBytes;
    demand.context = demand.memoryBytes > this.#contextAbove;
    return demand;
  }

  /**
   * The kernel of unnamed work with recorded times, by its use of the memory. A rhythm in phase with the refresh leaves readings
   * without work for seconds: then the nearest reading with work is used.
   */
  #recordedKernel(phase: Phase, timeMs: number): Kernel {
    const readings = this.#workReadings.get(phase) ?? [];
    return inferKernel(
      memoryBusyAt(readings, timeMs) ??
        memoryBusy(rowAt(this.#rows, readingFor(timeMs, phase, this.#lagMs))),
    );
  }

  /**
   * How busy work with recorded times was: continuously between launch and wait. For a span of several refreshes the registers
   * show the rest, such as kernels too short to be launched without gaps.
   */
  #recordedShare(phase: Phase, spans: readonly Span[], timeMs: number): number {
    const span = spanAt(spans, timeMs - phase.startMs);
    if (span === undefined) return 0;
    const shown = this.#activities.get(phase)?.at(timeMs).busy;
    return span[1] - span[0] < resolvedSpanMs || shown === undefined
      ? busyWhileOn
      : Math.min(busyWhileOn, shown);
  }

  /**
   * The kernel of work of which only the power is known: the intensity that draws it at the recorded clock. Its heat can still be
   * judged.
   */
  #kernelByPower(timeMs: number): Kernel {
    const { boardWatts, clockTreeWatts, coreWatts, leakageWatts } = this.#model.power;
    const slot = this.#slots.find(({ endMs }) => endMs - readingSeenMs > timeMs);
    const scale = dynamicScale(this.#model, rowAt(this.#rows, timeMs).smHertz);
    const dynamic = ((slot?.watts ?? 0) - boardWatts - leakageWatts * usualLeakage) / scale;
    const core = Math.max(0, (dynamic - clockTreeWatts) / coreWatts);
    return { ...kernels.generic, core, dram: 0, memoryBusy: 0 };
  }

  #at(timeMs: number): { kernel: Kernel; share: number } {
    const phase = this.#phases.find(({ startMs, endMs }) => timeMs >= startMs && timeMs < endMs);
    const name = phase === undefined ? undefined : findKernelName(phase.name);
    if (name === "idle") return { kernel: kernels.idle, share: 0 };
    if (phase?.busyMs !== undefined && this.#useUtilization)
      return {
        kernel: name === undefined ? this.#recordedKernel(phase, timeMs) : kernels[name],
        share: this.#recordedShare(phase, phase.busyMs, timeMs),
      };
    const timing = phase === undefined ? undefined : this.#timings.get(phase);
    if (phase !== undefined && timing !== undefined)
      return { kernel: timing.kernel, share: busyAt(timing.pattern, timeMs - timing.originMs) };
    if (phase !== undefined && name !== undefined && !this.#useUtilization) {
      const { pattern } = kernels[name];
      return { kernel: kernels[name], share: busyAt(pattern, timeMs - phase.startMs) };
    }
    if (!this.#useUtilization)
      return {
        kernel: phase === undefined ? kernels.idle : kernels.generic,
        share: phase === undefined ? 0 : 0.5,
      };
    if (phase !== undefined && this.undetermined(phase) !== undefined)
      return { kernel: this.#kernelByPower(timeMs), share: 1 };
    const correction = (phase && this.#corrections.get(phase)) ?? 1;
    const inferred = phase === undefined ? undefined : this.#activities.get(phase);
    if (inferred !== undefined) {
      const { busy, memoryBusy: memory } = inferred.at(timeMs);
      return {
        kernel: name === undefined ? inferKernel(memory) : kernels[name],
        share: Math.min(1, busy * correction),
      };
    }
    const row = rowAt(this.#rows, readingFor(timeMs, phase, this.#lagMs));
    return {
      kernel: name === undefined ? inferKernel(memoryBusy(row)) : kernels[name],
      share: Math.min(1, row.utilization * correction),
    };
  }
}

type Span = readonly [number, number];

/** The span that contains an instant. */
function spanAt(spans: readonly Span[], timeMs: number): Span | undefined {
  let [low, high] = [0, spans.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((spans[middle]?.[1] ?? 0) <= timeMs) low = middle + 1;
    else high = middle;
  }
  const span = spans[low];
  return span !== undefined && timeMs >= span[0] ? span : undefined;
}

/** The time of the reading that shows what ran at an instant: later, but never in the phase before or after. */
function readingFor(
  timeMs: number,
  phase: Phase | undefined,
  lagsMs: ReadonlyMap<Phase, number>,
): number {
  if (phase === undefined) return timeMs + usualLagMs;
  const settled = Math.min(phase.startMs + utilizationSettledMs, phase.endMs);
  return Math.min(phase.endMs, Math.max(timeMs + (lagsMs.get(phase) ?? usualLagMs), settled));
}

/**
 * A phase whose name defines when it is busy: `duty30`, `burst_1hz`, `matmul_2hz_duty25`. Half the time if the name has no share.
 */
interface TimedPhase {
  readonly kernel: Kernel;
  readonly pattern: ActivityPattern;
  /** When a period began. */
  readonly originMs: number;
}

const usualDutyPeriodMs = 200;
const originStepMs = 25;
/** The share of the busy time that kernels fill: launches and waits take the rest. */
const busyWhileOn = 0.95;

function timingOf(phase: Phase, rows: readonly TraceRow[]): TimedPhase | undefined {
  const hertz = /(\d+(?:\.\d+)?)_?hz(?![a-z])/i.exec(phase.name)?.[1];
  const duty = /duty_?(\d+)/i.exec(phase.name)?.[1];
  if (hertz === undefined && duty === undefined) return undefined;
  const periodMs = hertz === undefined ? usualDutyPeriodMs : 1_000 / Number(hertz);
  const onMs = (periodMs * Math.min(100, Number(duty ?? 50))) / 100;
  const name = findKernelName(phase.name);
  const within = rows.filter(({ timeMs }) => timeMs >= phase.startMs && timeMs < phase.endMs);
  const pattern: CyclePattern = {
    kind: "cycle",
    onMs,
    offMs: periodMs - onMs,
    busy: busyWhileOn,
  };
  return {
    kernel: name === undefined ? inferKernel(meanMemoryBusy(within)) : kernels[name],
    ...fitTiming(phase.startMs, pattern, within),
  };
}

type CyclePattern = Extract<ActivityPattern, { kind: "cycle" }>;

/** A loop that sleeps for its pause takes up to this much longer than its name states, which is several periods over a phase. */
const longestStretch = 0.015;
const stretchStep = 0.001;
const fitStepMs = 10;
/** A poll sees a reading half a polling interval after its refresh. The utilisation is the mean over 125 ms before that. */
const utilizationEndMs = 25;
const utilizationWindowMs = 125;
/** The SM clock follows a load that lowers it 55 to 105 ms later: the governor's delay, and the polling interval. */
const clockDelayMs = 80;
const clockWindowMs = 50;
/** A load that lowers the clock by less shows later than this, by up to 100 ms: then the clock is no timing source. */
const leastTimingDrop = 0.1;
/** The utilisation is refreshed by a separate timer, up to 100 ms apart from the others: it only breaks ties. */
const utilizationWeight = 0.05;

/** The start and the length of a period at which utilisation and SM clock fit the pattern best. */
function fitTiming(
  startMs: number,
  pattern: CyclePattern,
  rows: readonly TraceRow[],
): Pick<TimedPhase, "pattern" | "originMs"> {
  const clocks = rows.map(({ smHertz }) => smHertz).sort((a, b) => a - b);
  const lowHertz = clocks[Math.floor(clocks.length / 10)] ?? 0;
  const highHertz = clocks[Math.floor(clocks.length * 0.9)] ?? 0;
  const dropHertz = highHertz - lowHertz;
  const clockReadings = dropHertz > leastTimingDrop * highHertz ? clockRefreshes(rows) : [];
  const readings = utilizationRefreshes(rows);
  const shares = readings.map(({ utilization }) => utilization).sort((a, b) => a - b);
  const full = Math.max(0.01, shares[Math.floor(shares.length * 0.95)] ?? 1);
  let best = { pattern, originMs: startMs };
  let leastError = Number.POSITIVE_INFINITY;
  for (let stretch = 1; stretch <= 1 + longestStretch; stretch += stretchStep) {
    const tried = { ...pattern, onMs: pattern.onMs * stretch, offMs: pattern.offMs * stretch };
    for (let aheadMs = tried.onMs + tried.offMs; aheadMs > 0; aheadMs -= fitStepMs) {
      const originMs = startMs - aheadMs;
      const share = (endMs: number, windowMs: number): number =>
        onShare(tried, endMs - windowMs - originMs, endMs - originMs);
      let error = 0;
      for (const { timeMs, utilization } of readings)
        error +=
          utilizationWeight *
          (utilization / full - share(timeMs - utilizationEndMs, utilizationWindowMs)) ** 2;
      for (const { timeMs, smHertz } of clockReadings) {
        const drop = Math.min(1, Math.max(0, (highHertz - smHertz) / dropHertz));
        error += (drop - share(timeMs - clockDelayMs + clockWindowMs / 2, clockWindowMs)) ** 2;
      }
      if (error < leastError) [best, leastError] = [{ pattern: tried, originMs }, error];
    }
  }
  return best;
}

/** The share of a window that is in the busy part of its periods; times count from the start of one. */
function onShare({ onMs, offMs }: CyclePattern, fromMs: number, toMs: number): number {
  const periodMs = onMs + offMs;
  const onBefore = (timeMs: number): number => {
    const periods = Math.floor(timeMs / periodMs);
    return periods * onMs + Math.min(onMs, timeMs - periods * periodMs);
  };
  return (onBefore(toMs) - onBefore(fromMs)) / (toMs - fromMs);
}

function meanMemoryBusy(rows: readonly TraceRow[]): number {
  const sum = (values: readonly number[]): number =>
    values.reduce((total, value) => total + value, 0);
  const busy = sum(rows.map(({ utilization }) => utilization));
  const memory = sum(rows.map(({ memoryUtilization }) => memoryUtilization));
  return busy === 0 ? 0 : Math.min(1, memory / busy);
}

function memoryBusy(row: TraceRow): number {
  return row.utilization > 0 ? Math.min(1, row.memoryUtilization / row.utilization) : 0;
}
