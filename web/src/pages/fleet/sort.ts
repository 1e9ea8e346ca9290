/** The sort order of the table. Absent values are last in both directions, because they are neither large nor small. */
import { compareGpus, sortBy, type SortValue } from "../../../../src/view/sort.ts";
import {
  clock,
  type Gpu,
  memoryRatio,
  numberOf,
  read,
  temperature,
} from "../../../../src/view/gpu.ts";
import { boundBadge, severity } from "../../../../src/view/gpu-status.ts";
import type { Codec } from "../../view-state/param.ts";
import { statisticNames } from "../../../../src/view/range-statistics.ts";
import { type FleetStatistics, type StatColumn, statKeys } from "./stat-columns.ts";

export const sortKeys = [
  "gpu",
  "utilization",
  "memory",
  "power",
  "temperature",
  "clock",
  "fan",
  "bound",
  "state",
  "job",
  "age",
] as const;
export type SortKey = (typeof sortKeys)[number] | StatColumn;

const statColumns: readonly StatColumn[] = statKeys.flatMap((key) =>
  statisticNames.map((name): StatColumn => `${key}.${name}`),
);

export interface FleetSort {
  readonly key: SortKey;
  readonly descending: boolean;
}

const firstSort: FleetSort = { key: "gpu", descending: false };

/** Encoded in the address as `power`, or `-power` for descending. */
export const sortCodec: Codec<FleetSort> = {
  read: (given) => {
    const [, minus = "", name = ""] = /^(-?)(.*)$/.exec(given ?? "") ?? [];
    const key =
      sortKeys.find((known) => known === name) ?? statColumns.find((known) => known === name);
    return key === undefined ? firstSort : { key, descending: minus === "-" };
  },
  write: ({ key, descending }) =>
    key === firstSort.key && !descending ? undefined : `${descending ? "-" : ""}${key}`,
};

/** The same column again reverses the order; a new column starts descending for numbers and ascending for names. */
export function nextSort(now: FleetSort, key: SortKey): FleetSort {
  if (now.key === key) return { key, descending: !now.descending };
  return { key, descending: key !== "gpu" && key !== "job" && key !== "bound" };
}

export const sortFleet = (
  gpus: readonly Gpu[],
  { key, descending }: FleetSort,
  statistics: FleetStatistics = new Map(),
): Gpu[] =>
  sortBy(
    gpus,
    (gpu) => sortValue(gpu, key, statistics),
    descending,
    (left, right) => compareGpus(left, right) * (key === "gpu" && descending ? -1 : 1),
  );

const isStat = (key: SortKey): key is StatColumn => key.includes(".");

function sortValue(gpu: Gpu, key: SortKey, statistics: FleetStatistics): SortValue {
  if (isStat(key)) return statistics.get(key)?.get(gpu.id);
  switch (key) {
    case "gpu":
      return 0;
    case "utilization":
      return numberOf(read(gpu, "utilization"));
    case "memory":
      return numberOf(memoryRatio(gpu));
    case "power":
      return numberOf(read(gpu, "power"));
    case "temperature":
      return numberOf(temperature(gpu));
    case "clock":
      return numberOf(clock(gpu));
    case "fan":
      return numberOf(read(gpu, "fan"));
    case "bound":
      return boundBadge(gpu)?.text;
    case "state":
      return severity(gpu);
    case "job":
      return gpu.row.job;
    case "age":
      return gpu.row.ageMs.fast;
  }
}
