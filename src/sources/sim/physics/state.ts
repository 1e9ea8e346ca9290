/** The state of one GPU between two steps, and what is around it. Plain numbers, so that ten thousand fit in memory. */
import type { SimCard } from "./card.ts";
import type { UnitActivity } from "../kernels.ts";

/** What surrounds and ails a card. Faults are changes to this, never to the physics. */
export interface CardEnvironment {
  ambientCelsius: number;
  /** Chassis airflow over its normal value; cools cards without fans of their own. */
  airflow: number;
  fansFailed: boolean;
  /** Resistance from die to heatsink over its normal value: 1 is good paste. */
  pasteFactor: number;
  powerLimitWatts: number;
  /** The board asks the card to halve its clock. */
  powerBrake: boolean;
  /** Clocks never above this; boost where nothing is wrong. */
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

/** Throttle reasons in the order of the seconds counters. */
export const simThrottleReasons = [
  "power_cap",
  "power_brake",
  "thermal",
  "thermal_hardware",
  "clock_setting",
] as const;

export interface SimGpuState {
  /** Rung of the clock ladder, or -1 in deep idle. */
  rung: number;
  /** Decisions of the governor since the card last had a reason to stay at boost. */
  quietSteps: number;
  /** What the governor measured last: compute power as it would be at boost, and memory power. */
  seenCoreWatts: number;
  seenMemoryWatts: number;
  /** What it has measured since: sums over this many steps. */
  measuredSteps: number;
  measuredCoreWatts: number;
  measuredMemoryWatts: number;
  capHoldSteps: number;
  /** How far the thermal governor holds the clock down, in rungs. */
  thermalRungs: number;
  /** Bit per throttle reason, in the order of `throttleReasons`. */
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

  /** True power over the last steps, for the reported mean. */
  readonly powerRing: Float64Array;
  ringAt: number;
  ringSum: number;
  powerWatts: number;
  energyJoules: number;

  /** What the counters of a real card show: smoothed over about two tenths of a second. */
  utilization: number;
  memoryUtilization: number;
  tensorActivity: number;
  dramActivity: number;
  /** Of the kernel that ran last: times utilisation, what each unit's counter shows. */
  units: UnitActivity;
  memoryBytes: number;
  receive: number;
  transmit: number;
  context: boolean;
}

export function reportedWatts(card: SimCard, state: SimGpuState): number {
  return state.ringSum / card.windowSteps;
}

/** The temperature that fans and slowdown go by: AMD goes by the hottest spot. */
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
