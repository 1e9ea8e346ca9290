/** A model made ready for stepping: its clock ladder, and the decay of every RC stage over one step, worked out once. */
import { type ClockLadder, clockLadder } from "./clocks.ts";
import type { GpuModel } from "./model.ts";

export interface SimCard {
  readonly model: GpuModel;
  readonly stepMs: number;
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

/** The physics steps at this pace everywhere. A real governor follows a load within about 100 ms: half of that shows it. */
export const stepMs = 50;

export function makeSimCard(model: GpuModel): SimCard {
  const ladder = clockLadder(model);
  const decay = (seconds: number): number => Math.exp(-stepMs / 1_000 / seconds);
  return {
    model,
    stepMs,
    ladder,
    topRung: ladder.hertz.length - 1,
    windowSteps: Math.max(1, Math.round(model.power.windowMs / stepMs)),
    junctionDecay: decay(model.thermal.junction.seconds),
    spreaderDecay: decay(model.thermal.spreader.seconds),
    baseDecay: decay(model.thermal.base.seconds),
    trafficDecay: decay(model.thermal.traffic.seconds),
    memoryDecay: decay(model.thermal.memory.seconds),
  };
}
