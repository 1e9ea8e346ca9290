/** A model prepared for stepping: its clock ladder and the decay of every RC stage over one step, computed once. */
import type { GpuModel } from "./model.ts";
import { kernels, type UnitActivity } from "../kernels.ts";

/* Clock, voltage, and their effect on dynamic power. A card's clocks form a ladder of fixed steps. */

/** The voltage under load at a clock. Deep idle has its own voltage, lower than any under load. */
function voltsAt(model: GpuModel, hertz: number): number {
  const { floorVolts, maxVolts, kneeHertz } = model.voltage;
  const { boostHertz } = model.clocks;
  if (hertz <= kneeHertz) return floorVolts;
  return (
    floorVolts +
    (maxVolts - floorVolts) * Math.min(1, (hertz - kneeHertz) / (boostHertz - kneeHertz))
  );
}

/** The factor of dynamic power: f·V² relative to its value at boost. */
export function dynamicScale(model: GpuModel, hertz: number): number {
  const volts = voltsAt(model, hertz) / model.voltage.maxVolts;
  return (hertz / model.clocks.boostHertz) * volts * volts;
}

interface ClockLadder {
  readonly hertz: Float64Array;
  readonly volts: Float64Array;
  readonly scale: Float64Array;
}

/** All clocks from idle to boost. The first rung is idle, the last is boost, with whole steps in between. */
function clockLadder(model: GpuModel): ClockLadder {
  const { idleHertz, boostHertz, stepHertz } = model.clocks;
  const rungs = Math.floor((boostHertz - idleHertz) / stepHertz) + 1;
  const hertz = new Float64Array(rungs);
  const volts = new Float64Array(rungs);
  const scale = new Float64Array(rungs);
  for (let rung = 0; rung < rungs; rung++) {
    const at = boostHertz - (rungs - 1 - rung) * stepHertz;
    hertz[rung] = at;
    volts[rung] = voltsAt(model, at);
    scale[rung] = dynamicScale(model, at);
  }
  return { hertz, volts, scale };
}

/** The highest rung whose value is at most the bound, or 0. Values must be ascending. */
export function highestRung(values: Float64Array, bound: number): number {
  let low = 0;
  let high = values.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((values[middle] ?? Number.POSITIVE_INFINITY) <= bound) low = middle;
    else high = middle - 1;
  }
  return low;
}

export interface SimCard {
  readonly model: GpuModel;
  readonly stepMs: number;
  /** Steps between two decisions of the governor, which averages over them. */
  readonly governorSteps: number;
  readonly ladder: ClockLadder;
  readonly topRung: number;
  /** Number of steps over which the reported power is averaged. */
  readonly windowSteps: number;
  readonly junctionDecay: number;
  readonly spreaderDecay: number;
  readonly baseDecay: number;
  readonly trafficDecay: number;
  readonly memoryDecay: number;
}

/** Interval of the governor's decisions. A real one follows a load within about 100 ms; half of that is fine enough to show it. */
export const governorMs = 50;

/** The simulator steps at the governor's interval. */
export const stepMs = governorMs;

/**
 * Prepares a card. A step other than the governor's must divide its interval: bursts of 30 ms heat a die whose junction follows in 50 ms.
 */
export function makeSimCard(model: GpuModel, ownStepMs = stepMs): SimCard {
  const ladder = clockLadder(model);
  const decay = (seconds: number): number => Math.exp(-ownStepMs / 1_000 / seconds);
  return {
    model,
    stepMs: ownStepMs,
    governorSteps: Math.max(1, Math.round(governorMs / ownStepMs)),
    ladder,
    topRung: ladder.hertz.length - 1,
    windowSteps: Math.max(1, Math.round(model.power.windowMs / ownStepMs)),
    junctionDecay: decay(model.thermal.junction.seconds),
    spreaderDecay: decay(model.thermal.spreader.seconds),
    baseDecay: decay(model.thermal.base.seconds),
    trafficDecay: decay(model.thermal.traffic.seconds),
    memoryDecay: decay(model.thermal.memory.seconds),
  };
}

/* The load on a GPU during one step. Written by workloads and recorded phases, read by the physics. */

export interface Demand {
  /** True if a program holds a context. */
  context: boolean;
  /** Share of the step in which kernels ran. */
  busy: number;
  /** Compute intensity while busy: 1 is a large bf16 matrix product. */
  core: number;
  /** Share of the memory bandwidth used while busy. */
  dram: number;
  /** The reading of the memory controller's counter while busy: it counts time, so it is higher than the bandwidth share. */
  memoryBusy: number;
  /** Share of cycles in which the matrix units are active while busy. */
  tensor: number;
  /** Unit activity of the running kernel. */
  units: UnitActivity;
  memoryBytes: number;
  /** Share of the PCIe link used, by direction from the GPU's view. */
  receive: number;
  transmit: number;
}

export function noDemand(): Demand {
  return {
    context: false,
    busy: 0,
    core: 0,
    dram: 0,
    memoryBusy: 0,
    tensor: 0,
    units: kernels.idle.units,
    memoryBytes: 0,
    receive: 0,
    transmit: 0,
  };
}
