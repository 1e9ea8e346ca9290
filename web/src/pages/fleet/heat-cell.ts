/** The content of one heatmap cell. Pure. */
import { describeAbsence } from "../../format/absence.ts";
import { type Gpu, nameOf } from "../../../../src/view/gpu.ts";
import type { HeatScale } from "./heat.ts";

export interface HeatShade {
  /** A lost GPU is hatched, an absent value an empty outline: never the colour of zero. */
  readonly kind: "reported" | "lost" | "absent";
  /** In per cent, in steps of `step`. */
  readonly share: number | undefined;
}

export function heatShade(gpu: Gpu, scale: HeatScale, step: number): HeatShade {
  if (gpu.state === "lost" || gpu.state === "silent") return lost;
  const ratio = scale.ratio(gpu);
  if (typeof ratio !== "number") return absent;
  const share = Math.round((100 * Math.min(1, Math.max(0, ratio))) / step) * step;
  return { kind: "reported", share };
}

const lost: HeatShade = { kind: "lost", share: undefined };
const absent: HeatShade = { kind: "absent", share: undefined };

/** Separate from the shade: texts for two thousand cells a second would cost more than drawing them. */
export function describeCell(gpu: Gpu, scale: HeatScale): string {
  if (gpu.state === "lost" || gpu.state === "silent") return `${nameOf(gpu)}: ${gpu.state}`;
  const ratio = scale.ratio(gpu);
  return `${nameOf(gpu)}: ${typeof ratio === "number" ? scale.say(gpu, 1) : `n/a. ${describeAbsence(ratio)}`}`;
}
