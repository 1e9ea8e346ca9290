/** Where the watts go: board, clock tree, leakage, compute and memory. */
import type { SimCard } from "./card.ts";
import { dynamicScale } from "./clocks.ts";

/** Leakage grows by e every this many degrees; two H200 cards at 32 and 45 °C differ by 12 W at the same idle clock. */
const leakageFoldKelvin = 40;
const leakageReferenceCelsius = 35;

export function leakageWatts(card: SimCard, volts: number, celsius: number): number {
  const relative = volts / card.model.voltage.maxVolts;
  // A card past 150 °C has long shut down; the bound keeps a wild scenario finite.
  const excess = Math.min(celsius, 150) - leakageReferenceCelsius;
  return card.model.power.leakageWatts * relative * relative * Math.exp(excess / leakageFoldKelvin);
}

/** f·V² over its value at boost, also in deep idle. */
export function scaleAt(card: SimCard, rung: number): number {
  if (rung >= 0) return card.ladder.scale[rung] ?? 1;
  const { clocks, voltage } = card.model;
  const volts = voltage.idleVolts / voltage.maxVolts;
  return (clocks.idleHertz / clocks.boostHertz) * volts * volts;
}

/** Power with nothing to do at full clock or in deep idle, at a die temperature. */
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
