/** What one cell of the heatmap shows of its GPU. Pure. */
import { sayAbsence } from "../../format/absence.ts";
import type { Gpu } from "../../live/gpu.ts";
import { nameOf } from "../../live/gpu.ts";
import type { HeatScale } from "./heat.ts";

export interface HeatCell {
  /** A lost GPU is hatched, an absent value an empty outline: never the colour of zero. */
  readonly kind: "told" | "lost" | "absent";
  /** In per cent, in steps of `step`. */
  readonly share: number | undefined;
  readonly says: string;
}

export function heatCell(gpu: Gpu, scale: HeatScale, step: number): HeatCell {
  if (gpu.state === "lost" || gpu.state === "silent")
    return { kind: "lost", share: undefined, says: `${nameOf(gpu)}: ${gpu.state}` };
  const ratio = scale.ratio(gpu);
  if (typeof ratio !== "number")
    return { kind: "absent", share: undefined, says: `${nameOf(gpu)}: n/a. ${sayAbsence(ratio)}` };
  const share = Math.round((100 * Math.min(1, Math.max(0, ratio))) / step) * step;
  return { kind: "told", share, says: `${nameOf(gpu)}: ${scale.say(gpu, step)}` };
}
