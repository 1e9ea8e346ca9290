/** The state of one GPU between two steps, and its environment. Plain numbers, so that ten thousand GPUs fit in memory. */
import type { SimCard } from "./card.ts";
import type { UnitActivity } from "../kernels.ts";

/** A card's environment and defects. Faults change this, never the physics. */
export interface CardEnvironment {
  ambientCelsius: number;
  /** Chassis airflow relative to normal; cools cards without fans of their own. */
  airflow: number;
  fansFailed: boolean;
  /** Thermal resistance from die to heatsink relative to normal; 1 is good paste. */
  pasteFactor: number;
  powerLimitWatts: number;
  /** True if the board requests the card to halve its clock. */
  powerBrake: boolean;
  /** Upper limit of the clock; boost on a healthy card. */
  ceilingHertz: number;
}

export function normalEnvironment(card: SimCard, ambientCelsius: number): CardEnvironment {
  return {
    ambientCelsius,
    airflow: 1,
    fansFailed: false,
    pasteFactor: 1,
    powerLimitWatts: card.model.power.limitWatts,
    powerBrake: false,
    ceilingHertz: card.model.clocks.boostHertz,
  };
}

/** Throttle reasons, in the order of their seconds counters. */
export const simThrottleReasons = [
  "power_cap",
  "power_brake",
  "thermal",
  "thermal_hardware",
  "clock_setting",
] as const;

export interface SimGpuState {
  /** Rung of the clock ladder; -1 in deep idle. */
  rung: number;
  /** Decisions of the governor since the card last had a reason for boost. */
  quietSteps: number;
  /** The governor's last measurement: compute power scaled to boost, and memory power. */
  seenCoreWatts: number;
  seenMemoryWatts: number;
  /** Sums measured since then, over this many steps. */
  measuredSteps: number;
  measuredCoreWatts: number;
  measuredMemoryWatts: number;
  capHoldSteps: number;
  /** By how many rungs the thermal governor lowers the clock. */
  thermalRungs: number;
  /** One bit per throttle reason, in the order of `simThrottleReasons`. */
  reasons: number;
  readonly reasonSeconds: Float64Array;

  junctionKelvin: number;
  spreaderKelvin: number;
  baseKelvin: number;
  trafficKelvin: number;
  sinkCelsius: number;
  memoryKelvin: number;
  dieCelsius: number;
  hotspotCelsius: number;
  memoryCelsius: number;
  fanRatio: number;

  /** True power of the last steps, for the reported mean. */
  readonly powerRing: Float64Array;
  ringAt: number;
  ringSum: number;
  powerWatts: number;
  energyJoules: number;

  /** The counters as a real card reports them: smoothed over about 200 ms. */
  utilization: number;
  memoryUtilization: number;
  tensorActivity: number;
  dramActivity: number;
  /** Unit activity of the last kernel; multiplied by utilization it gives each unit's counter. */
  units: UnitActivity;
  memoryBytes: number;
  receive: number;
  transmit: number;
  context: boolean;
}

export function reportedWatts(card: SimCard, state: SimGpuState): number {
  return state.ringSum / card.windowSteps;
}

/** The temperature that controls fans and slowdown; AMD uses the hottest spot. */
export function governingCelsius(card: SimCard, state: SimGpuState): number {
  return card.model.vendor === "amd" ? state.hotspotCelsius : state.dieCelsius;
}

export function clockHertz(card: SimCard, state: SimGpuState): number {
  return state.rung < 0
    ? card.model.clocks.idleHertz
    : (card.ladder.hertz[state.rung] ?? card.model.clocks.idleHertz);
}

export function clockVolts(card: SimCard, state: SimGpuState): number {
  return state.rung < 0
    ? card.model.voltage.idleVolts
    : (card.ladder.volts[state.rung] ?? card.model.voltage.idleVolts);
}
