/** A model made ready for stepping: its clock ladder, and the decay of every RC stage over one step, worked out once. */
import type { GpuModel } from "./model.ts";
import { kernels, type UnitActivity } from "../kernels.ts";

/* Clock, voltage and what both do to dynamic power. A card's clocks are a ladder of fixed steps. */

/** The load voltage at a clock. Deep idle has a voltage of its own, lower than any load's. */
function voltsAt(model: GpuModel, hertz: number): number {
  const { floorVolts, maxVolts, kneeHertz } = model.voltage;
  const { boostHertz } = model.clocks;
  if (hertz <= kneeHertz) return floorVolts;
  return (
    floorVolts +
    (maxVolts - floorVolts) * Math.min(1, (hertz - kneeHertz) / (boostHertz - kneeHertz))
  );
}

/** f·V² over its value at boost: what dynamic power is multiplied by. */
export function dynamicScale(model: GpuModel, hertz: number): number {
  const volts = voltsAt(model, hertz) / model.voltage.maxVolts;
  return (hertz / model.clocks.boostHertz) * volts * volts;
}

interface ClockLadder {
  readonly hertz: Float64Array;
  readonly volts: Float64Array;
  readonly scale: Float64Array;
}

/** Every clock from idle to boost. The last rung is boost, the first is idle, rungs between are whole steps. */
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

/** The highest rung whose value is at most the bound, or 0. Values rise. */
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
  /** Steps from one decision of the governor to the next: it measures the mean over them. */
  readonly governorSteps: number;
  readonly ladder: ClockLadder;
  readonly topRung: number;
  /** Steps that the reported power is averaged over. */
  readonly windowSteps: number;
  readonly junctionDecay: number;
  readonly spreaderDecay: number;
  readonly baseDecay: number;
  readonly trafficDecay: number;
  readonly memoryDecay: number;
}

/** The governor decides at this pace. A real one follows a load within about 100 ms: half of that shows it. */
export const governorMs = 50;

/** The simulator steps at the governor's pace. */
export const stepMs = governorMs;

/** A card that steps at another pace takes whole parts of the governor's: bursts of 30 ms heat a die whose junction follows in 50 ms. */
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

/* What a program asks of a GPU during one step. Workloads and recorded phases write it, the physics reads it. */

export interface Demand {
  /** Whether a program holds a context. */
  context: boolean;
  /** Share of the step in which kernels ran. */
  busy: number;
  /** Compute intensity while busy: 1 is a large bf16 matrix product. */
  core: number;
  /** Share of the memory bandwidth used while busy. */
  dram: number;
  /** What the memory controller counter shows while busy: it counts time, so it reads higher than bandwidth. */
  memoryBusy: number;
  /** Share of cycles in which the matrix units are active while busy. */
  tensor: number;
  /** Of the kernel that runs. */
  units: UnitActivity;
  memoryBytes: number;
  /** Share of the PCIe link used, by direction as the GPU sees it. */
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
