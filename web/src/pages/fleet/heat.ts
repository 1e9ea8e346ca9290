/** The metrics of the heatmap: readings that are a share of a maximum, so that one scale from 0 to 1 fits every card. */
import type { WireValue } from "../../../../src/view/live/protocol.ts";
import {
  type Gpu,
  memoryRatio,
  powerRatio,
  read,
  temperature,
  temperatureRatio,
} from "../../../../src/view/gpu.ts";
import { toColumnQuantity, formatWithUnit } from "../../format/quantity.ts";

export const heatKeys = ["utilization", "memory", "power", "temperature"] as const;
export type HeatKey = (typeof heatKeys)[number];

export interface HeatScale {
  readonly label: string;
  readonly family: string;
  readonly from: string;
  readonly to: string;
  /** 0 to 1 on the scale, or the reason for its absence. */
  readonly ratio: (gpu: Gpu) => WireValue;
  /** Text for the value, in steps of this many per cent. */
  readonly say: (gpu: Gpu, stepPercent: number) => string;
}

function percent(value: WireValue, step: number): string {
  if (typeof value !== "number") return "no reading";
  const rounded = Math.round((value * 100) / step) * step;
  return `${step === 1 ? "" : "about "}${formatWithUnit(toColumnQuantity(rounded / 100, "ratio"))}`;
}

export const heatScales: Readonly<Record<HeatKey, HeatScale>> = {
  utilization: {
    label: "Utilisation",
    family: "utilization",
    from: "0 %",
    to: "100 %",
    ratio: (gpu) => read(gpu, "utilization"),
    say: (gpu, step) => `${percent(read(gpu, "utilization"), step)} utilised`,
  },
  memory: {
    label: "Memory",
    family: "memory",
    from: "empty",
    to: "full",
    ratio: memoryRatio,
    say: (gpu, step) => `${percent(memoryRatio(gpu), step)} of memory used`,
  },
  power: {
    label: "Power",
    family: "power",
    from: "0 W",
    to: "its limit",
    ratio: powerRatio,
    say: (gpu, step) => `${percent(powerRatio(gpu), step)} of its power limit`,
  },
  temperature: {
    label: "Temperature",
    family: "temperature",
    from: "cool",
    to: "its limit",
    // Rooms are not at 0 °C, so that the lowest 30 % of the way to the limit never occur.
    ratio: (gpu) => {
      const ratio = temperatureRatio(gpu);
      return typeof ratio === "number" ? (ratio - 0.3) / 0.7 : ratio;
    },
    say: (gpu) => {
      const now = temperature(gpu);
      return typeof now === "number"
        ? formatWithUnit(toColumnQuantity(now, "celsius"))
        : "no reading";
    },
  },
};
