/** The clock governor: power cap, thermal limits, power brake, idle states. It decides from earlier steps, never from the coming one. */
import { type SimCard, dynamicScale, governorMs, highestRung } from "./card.ts";
import {
  type CardEnvironment,
  clockVolts,
  governingCelsius,
  reportedWatts,
  type SimGpuState,
} from "./state.ts";

/* Power by component: board, clock tree, leakage, compute and memory. */

/** Leakage grows by a factor of e per this many degrees; two H200 cards at 32 and 45 °C differ by 12 W at the same idle clock. */
const leakageFoldKelvin = 40;
const leakageReferenceCelsius = 35;

export function leakageWatts(card: SimCard, volts: number, celsius: number): number {
  const relative = volts / card.model.voltage.maxVolts;
  // A card above 150 °C has shut down long before; the limit keeps an extreme scenario finite.
  const excess = Math.min(celsius, 150) - leakageReferenceCelsius;
  return card.model.power.leakageWatts * relative * relative * Math.exp(excess / leakageFoldKelvin);
}

/** The factor of dynamic power (f·V² relative to boost), also in deep idle. */
export function scaleAt(card: SimCard, rung: number): number {
  if (rung >= 0) return card.ladder.scale[rung] ?? 1;
  const { clocks, voltage } = card.model;
  const volts = voltage.idleVolts / voltage.maxVolts;
  return (clocks.idleHertz / clocks.boostHertz) * volts * volts;
}

/** Idle power at full clock or in deep idle, at a die temperature. */
export function idleWatts(card: SimCard, deep: boolean, celsius: number): number {
  const { boardWatts, clockTreeWatts } = card.model.power;
  const { voltage, clocks } = card.model;
  const scale = deep ? scaleAt(card, -1) : dynamicScale(card.model, clocks.boostHertz);
  return (
    boardWatts +
    clockTreeWatts * scale +
    leakageWatts(card, deep ? voltage.idleVolts : voltage.maxVolts, celsius)
  );
}

/** While the mean is low, the card may exceed its limit by this much, as H200 traces show in the first second of a load. */
const burstShare = 1.05;
const burstGain = 0.08;
/** The power cap's reason bit stays set for this many decisions, 300 ms, after the cap no longer applies. */
const capHold = 6;

export const reasonBit = {
  powerCap: 1,
  powerBrake: 2,
  thermal: 4,
  thermalHardware: 8,
  clockSetting: 16,
} as const;

/** Chooses the rung until the next decision, and the throttle reasons. */
export function govern(
  card: SimCard,
  state: SimGpuState,
  around: CardEnvironment,
  wanted: boolean,
): void {
  const { clocks } = card.model;
  state.quietSteps = wanted ? 0 : state.quietSteps + 1;
  if (state.quietSteps * governorMs > clocks.holdMs) {
    state.rung = -1;
    state.reasons = 0;
    state.thermalRungs = 0;
    state.capHoldSteps = 0;
    return;
  }
  let reasons = 0;
  let rung = card.topRung;
  if (around.ceilingHertz < clocks.boostHertz) {
    rung = highestRung(card.ladder.hertz, around.ceilingHertz);
    reasons |= reasonBit.clockSetting;
  }
  const thermal = thermalRungs(card, state);
  const thermalRung = Math.max(0, card.topRung - thermal.rungs);
  if (thermalRung < rung) {
    rung = thermalRung;
    reasons |= thermal.hardware ? reasonBit.thermalHardware : reasonBit.thermal;
  }
  const capRung = powerCapRung(card, state, around);
  if (capRung < rung) {
    rung = capRung;
    state.capHoldSteps = capHold;
  } else if (state.capHoldSteps > 0) state.capHoldSteps -= 1;
  if (state.capHoldSteps > 0) reasons |= reasonBit.powerCap;

  if (around.powerBrake) {
    rung = Math.min(rung, highestRung(card.ladder.hertz, clocks.boostHertz / 2));
    reasons |= reasonBit.powerBrake;
  }
  state.rung = rung;
  state.reasons = reasons;
}

/** The highest rung at which the last measured load stays within the current cap. */
function powerCapRung(card: SimCard, state: SimGpuState, around: CardEnvironment): number {
  const { power } = card.model;
  const target = around.powerLimitWatts * power.capShare;
  const allowed = Math.min(
    around.powerLimitWatts * burstShare,
    target + burstGain * (target - reportedWatts(card, state)),
  );
  const fixed =
    power.boardWatts +
    state.seenMemoryWatts +
    leakageWatts(card, clockVolts(card, state), state.dieCelsius);
  return highestRung(
    card.ladder.scale,
    (allowed - fixed) / (power.clockTreeWatts + state.seenCoreWatts),
  );
}

/**
 * Above the target temperature the clock is lowered a little each step, below it raised again; at the slowdown temperature the
 * hardware halves it.
 */
function thermalRungs(card: SimCard, state: SimGpuState): { rungs: number; hardware: boolean } {
  const { thermal } = card.model;
  const over = governingCelsius(card, state) - thermal.targetCelsius;
  const perStep = over > 0 ? Math.min(1, 0.05 + 0.075 * over) : Math.max(-0.5, 0.05 * over);
  state.thermalRungs = Math.min(card.topRung, Math.max(0, state.thermalRungs + perStep));
  const hardware = governingCelsius(card, state) >= thermal.slowdownCelsius;
  const rungs = Math.floor(state.thermalRungs);
  return hardware ? { rungs: Math.max(rungs, card.topRung >> 1), hardware } : { rungs, hardware };
}
