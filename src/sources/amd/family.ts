/** Facts that follow from a card's PCI device id alone: its generation, and so the meaning of its power reading and energy counter. */
import type { DrmVendor } from "../drm-cards.ts";
import { joulesPerStep } from "./gpu-metrics/energy.ts";

export const amdVendor: DrmVendor = { vendorId: 0x1002, drivers: ["amdgpu"] };

/**
 * What hwmon's power covers. Up to RDNA 2 a Radeon reports only its chip (PPT), from RDNA 3 on the board; Instinct modules report
 * the socket, which is the whole module; an APU reports its package, processor included.
 */
export type PowerScope = "board" | "chip";

export interface AmdFamily {
  readonly name: string;
  readonly power: PowerScope;
  /** Known size of an energy step; undefined if it must be derived from the card's own power. */
  readonly joulesPerStep: number | undefined;
}

type Range = readonly [
  first: number,
  last: number,
  name: string,
  power: PowerScope,
  steps?: "instinct",
];

const ranges: readonly Range[] = [
  [0x66a0, 0x66af, "Vega 20", "chip"],
  [0x6700, 0x67ff, "Polaris", "chip"],
  [0x6860, 0x69af, "Vega", "chip"],
  [0x6980, 0x699f, "Polaris", "chip"],
  [0x7310, 0x731f, "RDNA", "chip"],
  [0x7340, 0x7362, "RDNA", "chip"],
  [0x7380, 0x739f, "CDNA", "board", "instinct"],
  [0x73a0, 0x73ff, "RDNA 2", "chip"],
  [0x7400, 0x741f, "CDNA 2", "board", "instinct"],
  [0x7420, 0x743f, "RDNA 2", "chip"],
  [0x7440, 0x749f, "RDNA 3", "board"],
  [0x74a0, 0x74bf, "CDNA 3", "board", "instinct"],
  [0x7550, 0x759f, "RDNA 4", "board"],
  [0x75a0, 0x75bf, "CDNA 4", "board", "instinct"],
];

/** Ids below the first Navi are old cards; other ids missing from the table above are newer than the table. */
const firstNavi = 0x7310;

export function familyOf(deviceId: number): AmdFamily {
  const range = ranges.find(([first, last]) => deviceId >= first && deviceId <= last);
  if (range === undefined) {
    const isOld = deviceId >= 0x6000 && deviceId < firstNavi;
    return { name: "", power: isOld ? "chip" : "board", joulesPerStep: undefined };
  }
  const [, , name, power, steps] = range;
  return { name, power, joulesPerStep: steps === undefined ? undefined : joulesPerStep[steps] };
}
