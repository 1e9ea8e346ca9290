/** Clock, voltage and what both do to dynamic power. A card's clocks are a ladder of fixed steps. */
import type { GpuModel } from "./model.ts";

/** The load voltage at a clock. Deep idle has a voltage of its own, lower than any load's. */
export function voltsAt(model: GpuModel, hertz: number): number {
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

export interface ClockLadder {
  readonly hertz: Float64Array;
  readonly volts: Float64Array;
  readonly scale: Float64Array;
}

/** Every clock from idle to boost. The last rung is boost, the first is idle, rungs between are whole steps. */
export function clockLadder(model: GpuModel): ClockLadder {
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
