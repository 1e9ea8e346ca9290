/** Drives a simulated card through recorded phases and measures its difference from the real one. */
import { governorMs, makeSimCard, type SimCard } from "../../src/sources/sim/physics/card.ts";
import type { GpuModel, ThermalStage } from "../../src/sources/sim/physics/model.ts";
import { ambientForIdle, idleState, step } from "../../src/sources/sim/physics/gpu.ts";
import {
  clockHertz,
  normalEnvironment,
  reportedWatts,
} from "../../src/sources/sim/physics/state.ts";
import { leakageWatts } from "../../src/sources/sim/physics/governor.ts";
import { updateSensors } from "../../src/sources/sim/physics/thermal.ts";
import { Drive, type DriveOptions } from "./drive.ts";
import { findKernelName } from "../../src/sources/sim/kernels.ts";
import { findSampling, sampledMs, type SensorSampling } from "./sensor-age.ts";
import type { Phase, TraceRow } from "./trace.ts";

/** NVML refreshes power, temperature and clock at this interval; a trace sampled faster repeats them. */
const refreshMs = 95;
/** A heat path further from the model's than this is an error, not a variation between cards. */
const mostHeatPath = 1.3;
/** Half of the simulator's: work that starts and stops within 50 ms changes the die temperature by several degrees. */
const stepMs = 25;
/** The age of the SM clock: the 50 ms between two reads of the register. */
const clockAgeMs = 50;
/** The assumed age of the temperature, before that of the trace is determined. */
const usualSensorAgeMs = 70;

export interface SimulatedRow {
  readonly timeMs: number;
  readonly watts: number;
  readonly celsius: number;
  readonly memoryCelsius: number;
  readonly smHertz: number;
}

export interface PhaseComparison {
  readonly phase: string;
  readonly seconds: number;
  readonly realWatts: number;
  readonly simulatedWatts: number;
  /** Difference of the phase's means relative to the real mean. */
  readonly powerMeanError: number;
  /** Mean of the absolute differences relative to the real mean. */
  readonly powerAbsoluteError: number;
  readonly realCelsius: number;
  readonly simulatedCelsius: number;
  readonly celsiusRmse: number;
  /** For the means over each second, if the trace does not show within 100 ms when the card was busy. */
  readonly celsiusSecondsRmse?: number;
  /** Why the trace does not determine this phase's load: the simulator gets its power, and only its heat is judged. */
  readonly undetermined?: string | undefined;
  /** The mean clocks of the samples in which the real card was power-capped; absent without any. */
  readonly capped?: {
    readonly realHertz: number;
    readonly simulatedHertz: number;
    readonly error: number;
  };
}

export interface TraceComparison {
  readonly ambientCelsius: number;
  /** Degrees per watt of this card relative to the model's. */
  readonly heatPath: number;
  /** Leakage of this card relative to the model's. */
  readonly leakage: number;
  /** Watts that this card's memory draws at full traffic beyond the usual. */
  readonly memoryExtraWatts: number;
  /** Median age of the temperature in a reading. */
  readonly sensorAgeMs: number;
  readonly phases: readonly PhaseComparison[];
  /** Over the phases whose load the trace determines. */
  readonly celsiusRmse: number;
  /** Absent if the trace has no memory temperature. */
  readonly memoryCelsiusRmse?: number;
}

interface SimulatedTrace {
  readonly ambientCelsius: number;
  /** The die temperature. */
  readonly celsius: History;
  readonly rows: SimulatedRow[];
}

interface Simulation extends SimulatedTrace {
  readonly leakage: number;
  readonly memoryExtraWatts: number;
  readonly drive: Drive;
  readonly sampling: SensorSampling;
  readonly heatPath: number;
}

/**
 * The simulated readings at the instants of the trace, for this card's own room and heat path. Whole degrees, as cards report
 * them. Power is current. The clock is half as old as the 50 ms between two reads of the register; the temperature is sampled
 * separately (sensor-age.ts).
 */
function simulate(
  model: GpuModel,
  phases: readonly Phase[],
  rows: readonly TraceRow[],
  options: DriveOptions,
): Simulation {
  const drive = new Drive(phases, rows, model, options);
  const usual = simulateOnce(
    makeSimCard(model, stepMs),
    phases,
    rows,
    drive,
    (timeMs) => timeMs - usualSensorAgeMs,
  );
  const heatPath = heatPathOf(usual, rows);
  const known = rows.filter(
    (row, index) => isRefresh(row, rows[index - 1]) && drive.isTimed(row.timeMs),
  );
  const sampling = findSampling(
    known,
    (timeMs) => usual.ambientCelsius + heatPath * (usual.celsius.at(timeMs) - usual.ambientCelsius),
  );
  const leakage = leakageOf(makeSimCard(model, stepMs), phases, rows, usual, drive);
  const memoryExtraWatts = memoryExtraOf(model, phases, rows, drive);
  const own = makeSimCard(ownCard(model, heatPath, leakage, memoryExtraWatts), stepMs);
  const ownDrive = new Drive(phases, rows, own.model, options);
  return {
    ...simulateOnce(own, phases, rows, ownDrive, (timeMs) => sampledMs(sampling, timeMs)),
    heatPath,
    leakage,
    memoryExtraWatts,
    sampling,
    drive: ownDrive,
  };
}

/**
 * How much more this card heats up per watt than the model: one number for the whole trace, like the room temperature. Mounting
 * and paste differ between cards; four H200 cards had 0.91 to 1.15 of the model's.
 */
function heatPathOf(
  { ambientCelsius, rows: simulated }: SimulatedTrace,
  rows: readonly TraceRow[],
): number {
  let both = 0;
  let own = 0;
  for (const [index, { celsius }] of simulated.entries()) {
    const rise = celsius - ambientCelsius;
    both += rise * ((rows[index]?.celsius ?? celsius) - ambientCelsius);
    own += rise * rise;
  }
  return own === 0 ? 1 : Math.min(mostHeatPath, Math.max(1 / mostHeatPath, both / own));
}

/** The time until a phase has settled: the reported power is a mean over a second, and the die has cooled. */
const settledMs = 3_000;
const mostLeakage = 1.4;

/** How much more this card leaks than the model, from its idle power with a context: silicon differs between cards. */
function leakageOf(
  card: SimCard,
  phases: readonly Phase[],
  rows: readonly TraceRow[],
  usual: SimulatedTrace,
  drive: Drive,
): number {
  let [more, leaking] = [0, 0];
  for (const { name, startMs, endMs } of phases) {
    if (findKernelName(name) !== "idle") continue;
    for (const [index, { timeMs, watts, celsius, smHertz }] of rows.entries()) {
      if (timeMs < startMs + settledMs || timeMs >= endMs || !drive.holdsContext(timeMs)) continue;
      if (smHertz < card.model.clocks.boostHertz) continue;
      more += watts - (usual.rows[index]?.watts ?? watts);
      leaking += leakageWatts(card, card.model.voltage.maxVolts, celsius);
    }
  }
  if (leaking === 0) return 1;
  return Math.min(mostLeakage, Math.max(1 / mostLeakage, 1 + more / leaking));
}

/** What the memory's sensor shows at full traffic above its value at rest, by model: 110.8 to 114.8 W on the first H200 cards. */
const usualMemoryRise: Readonly<Record<string, number>> = { H200: 112.4 };
/** Of the memory controller's time: the memory is all that limits such work. */
const fullTraffic = 0.95;

/**
 * How much more this card's memory draws at full traffic, from the memory's own sensor and never from the board's power, which is
 * judged: stacks of memory differ between cards. 0 if the trace has no such work, or no such column.
 */
function memoryExtraOf(
  model: GpuModel,
  phases: readonly Phase[],
  rows: readonly TraceRow[],
  drive: Drive,
): number {
  const usual = usualMemoryRise[model.key];
  const rest: number[] = [];
  const full: number[] = [];
  for (const { startMs, endMs } of phases) {
    // The sensor follows slowly: only a phase that is one or the other throughout shows its value.
    const settled = rows.filter(
      ({ timeMs }) => timeMs >= startMs + settledMs && timeMs < endMs && drive.holdsContext(timeMs),
    );
    const watts = settled.flatMap(({ memoryWatts }) => memoryWatts ?? []);
    if (settled.every(({ memoryUtilization }) => memoryUtilization >= fullTraffic))
      full.push(...watts);
    else if (settled.every(({ memoryUtilization }) => memoryUtilization === 0)) rest.push(...watts);
  }
  if (usual === undefined || rest.length === 0 || full.length === 0) return 0;
  return mean(full) - mean(rest) - usual;
}

/** The model with this card's heat path, leakage and memory. */
function ownCard(
  model: GpuModel,
  factor: number,
  leakage: number,
  memoryExtraWatts: number,
): GpuModel {
  const { thermal } = model;
  const scaled = (stage: ThermalStage): ThermalStage => ({
    ...stage,
    kelvinPerWatt: stage.kelvinPerWatt * factor,
  });
  return {
    ...model,
    power: {
      ...model.power,
      leakageWatts: model.power.leakageWatts * leakage,
      memoryWatts: model.power.memoryWatts + memoryExtraWatts,
    },
    thermal: {
      ...thermal,
      junction: scaled(thermal.junction),
      spreader: scaled(thermal.spreader),
      base: scaled(thermal.base),
      traffic: scaled(thermal.traffic),
      sink: scaled(thermal.sink),
    },
  };
}

function simulateOnce(
  card: SimCard,
  phases: readonly Phase[],
  rows: readonly TraceRow[],
  drive: Drive,
  /** Returns when the temperature of a reading was sampled. */
  sampled: (timeMs: number) => number,
): SimulatedTrace {
  const first = rows[0];
  if (first === undefined) throw new Error("the trace has no rows");
  const ambientCelsius = roomCelsius(card, phases, rows, drive);
  const around = normalEnvironment(card, ambientCelsius);
  const state = idleState(card, around, first.smHertz > 2 * card.model.clocks.idleHertz);
  // A card at boost without a context is about to lower its clock; its progress is unknown and assumed half-way.
  state.quietSteps = Math.max(state.quietSteps, card.model.clocks.holdMs / governorMs / 2);
  state.sinkCelsius += first.celsius - state.dieCelsius;
  updateSensors(card, state);
  const simulated: SimulatedRow[] = [];
  let atMs = first.timeMs;
  let refreshedMs = first.timeMs;
  let before: TraceRow | undefined;
  const celsius = new History(state.dieCelsius, atMs);
  const hertz = new History(clockHertz(card, state), atMs);
  for (const row of rows) {
    for (; atMs + card.stepMs <= row.timeMs; atMs += card.stepMs) {
      step(card, state, around, drive.over(atMs, card.stepMs));
      celsius.push(state.dieCelsius);
      hertz.push(clockHertz(card, state));
    }
    const last = simulated.at(-1);
    const refreshed =
      last === undefined || isRefresh(row, before) || row.timeMs - refreshedMs >= refreshMs;
    before = row;
    if (refreshed) refreshedMs = row.timeMs;
    simulated.push(
      last !== undefined && !refreshed
        ? { ...last, timeMs: row.timeMs }
        : {
            timeMs: row.timeMs,
            watts: reportedWatts(card, state),
            celsius: Math.round(celsius.at(sampled(row.timeMs))),
            memoryCelsius: Math.round(state.memoryCelsius),
            smHertz: hertz.stepAt(row.timeMs - clockAgeMs),
          },
    );
  }
  return { ambientCelsius, rows: simulated, celsius };
}

/** A simulated quantity at the end of every step so far. */
class History {
  readonly #startMs: number;
  readonly #values: number[];

  constructor(first: number, startMs: number) {
    this.#startMs = startMs;
    this.#values = [first];
  }

  push(value: number): void {
    this.#values.push(value);
  }

  /** Interpolated linearly between two steps. */
  at(timeMs: number): number {
    const from = this.stepAt(timeMs);
    const to = this.stepAt(timeMs + stepMs);
    const into = (timeMs - this.#startMs) / stepMs;
    return from + (to - from) * Math.max(0, into - Math.floor(into));
  }

  /** The value at the end of the last step before an instant. */
  stepAt(timeMs: number): number {
    const index = Math.floor((timeMs - this.#startMs) / stepMs);
    const value = this.#values[Math.min(this.#values.length - 1, Math.max(0, index))];
    if (value === undefined) throw new Error("BUG: a history has no values");
    return value;
  }
}

const isRefresh = (row: TraceRow, before: TraceRow | undefined): boolean =>
  row.watts !== before?.watts || row.celsius !== before.celsius || row.smHertz !== before.smHertz;

/** The room temperature, from the end of the first idle phase, when the card has settled. */
function roomCelsius(
  card: SimCard,
  phases: readonly Phase[],
  rows: readonly TraceRow[],
  drive: Drive,
): number {
  const idle = phases.find(({ name }) => findKernelName(name) === "idle");
  const settled =
    idle === undefined
      ? []
      : rows.filter(({ timeMs }) => timeMs >= idle.endMs - 2_500 && timeMs < idle.endMs - 500);
  const used = settled.length > 0 ? settled : rows.slice(0, 10);
  const context = drive.holdsContext(used[0]?.timeMs ?? 0);
  return ambientForIdle(card, mean(used.map(({ celsius }) => celsius)), context);
}

export function compare(
  model: GpuModel,
  phases: readonly Phase[],
  rows: readonly TraceRow[],
  options: DriveOptions,
): TraceComparison {
  const {
    ambientCelsius,
    heatPath,
    leakage,
    memoryExtraWatts,
    sampling,
    rows: simulated,
    drive,
  } = simulate(model, phases, rows, options);
  const pairs = rows.map((real, index) => ({ real, simulated: simulated[index] ?? missing() }));
  const compared = phases.flatMap((phase, index) => {
    const fromMs = judgedFromMs(phase, phases[index - 1], drive, model.power.windowMs);
    const within = pairs.filter(({ real }) => real.timeMs >= fromMs && real.timeMs < phase.endMs);
    return within.length === 0
      ? []
      : [
          {
            ...comparePhase(phase, within),
            undetermined: drive.undetermined(phase),
            ...(drive.isTimed((phase.startMs + phase.endMs) / 2)
              ? {}
              : { celsiusSecondsRmse: secondsRmse(phase.startMs, within) }),
          },
        ];
  });
  const unknown = phases.filter((phase) => drive.undetermined(phase) !== undefined);
  const judged = pairs.filter(
    ({ real: { timeMs } }) =>
      !unknown.some(({ startMs, endMs }) => timeMs >= startMs && timeMs < endMs),
  );
  const memory = judged.flatMap(({ real, simulated: { memoryCelsius } }) =>
    real.memoryCelsius === undefined ? [] : [(real.memoryCelsius - memoryCelsius) ** 2],
  );
  return {
    ambientCelsius,
    heatPath,
    leakage,
    memoryExtraWatts,
    sensorAgeMs: median(
      rows
        .filter((row, index) => isRefresh(row, rows[index - 1]))
        .map(({ timeMs }) => timeMs - sampledMs(sampling, timeMs)),
    ),
    phases: compared,
    celsiusRmse: rmse(judged),
    ...(memory.length === 0 ? {} : { memoryCelsiusRmse: Math.sqrt(mean(memory)) }),
  };
}

/** The reported power is a mean over a second: after a phase with an unknown load, the first second still reflects that load. */
function judgedFromMs(
  { startMs }: Phase,
  before: Phase | undefined,
  drive: Drive,
  windowMs: number,
): number {
  if (before === undefined || before.endMs < startMs - windowMs) return startMs;
  const isKnown = drive.undetermined(before) === undefined && drive.isTimed(before.endMs - 1);
  return isKnown ? startMs : before.endMs + windowMs;
}

interface Pair {
  readonly real: TraceRow;
  readonly simulated: SimulatedRow;
}

function comparePhase(phase: Phase, pairs: readonly Pair[]): PhaseComparison {
  const realWatts = mean(pairs.map(({ real }) => real.watts));
  const simulatedWatts = mean(pairs.map(({ simulated }) => simulated.watts));
  const capped = pairs.filter(({ real }) => real.powerCapped);
  const realHertz = mean(capped.map(({ real }) => real.smHertz));
  const simulatedHertz = mean(capped.map(({ simulated }) => simulated.smHertz));
  return {
    phase: phase.name,
    seconds: (phase.endMs - phase.startMs) / 1_000,
    realWatts,
    simulatedWatts,
    powerMeanError: Math.abs(simulatedWatts - realWatts) / realWatts,
    powerAbsoluteError:
      mean(pairs.map(({ real, simulated }) => Math.abs(real.watts - simulated.watts))) / realWatts,
    realCelsius: mean(pairs.map(({ real }) => real.celsius)),
    simulatedCelsius: mean(pairs.map(({ simulated }) => simulated.celsius)),
    celsiusRmse: rmse(pairs),
    ...(capped.length === 0
      ? {}
      : {
          capped: {
            realHertz,
            simulatedHertz,
            error: Math.abs(simulatedHertz - realHertz) / realHertz,
          },
        }),
  };
}

function rmse(pairs: readonly Pair[]): number {
  return Math.sqrt(
    mean(pairs.map(({ real, simulated }) => (real.celsius - simulated.celsius) ** 2)),
  );
}

function secondsRmse(startMs: number, pairs: readonly Pair[]): number {
  const seconds = new Map<number, Pair[]>();
  for (const pair of pairs) {
    const second = Math.floor((pair.real.timeMs - startMs) / 1_000);
    seconds.set(second, [...(seconds.get(second) ?? []), pair]);
  }
  const squares = [...seconds.values()].map(
    (within) =>
      (mean(within.map(({ real }) => real.celsius)) -
        mean(within.map(({ simulated }) => simulated.celsius))) **
      2,
  );
  return Math.sqrt(mean(squares));
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

function missing(): never {
  throw new Error("BUG: a trace row has no simulated counterpart");
}
