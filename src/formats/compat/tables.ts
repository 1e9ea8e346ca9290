/** The compatibility tables, by the names that users pass. */
import { amd } from "./amd.ts";
import { dcgm, dcgmOld } from "./dcgm.ts";
import { nvidiaSmi } from "./nvidia-smi.ts";
import type { CompatTable } from "./row.ts";

export const compatNames = ["dcgm", "dcgm-old", "amd", "nvidia-smi"] as const;
export type CompatName = (typeof compatNames)[number];

export const compatTables: Readonly<Record<CompatName, CompatTable>> = {
  dcgm,
  "dcgm-old": dcgmOld,
  amd,
  "nvidia-smi": nvidiaSmi,
};
