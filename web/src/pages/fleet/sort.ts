/** The order of the table. What is absent sorts last whichever way: it is neither large nor small. */
import type { WireValue } from "../../../../src/view/live/protocol.ts";
import { clock, type Gpu, memoryRatio, read, temperature } from "../../live/gpu.ts";
import { severity } from "../../live/gpu-status.ts";
import type { Codec } from "../../view-state/param.ts";
import { type FleetStatistics, type StatColumn, statKeys, statNames } from "./stat-columns.ts";

export const sortKeys = [
  "gpu",
  "utilization",
  "memory",
  "power",
  "temperature",
  "clock",
  "fan",
  "state",
  "job",
  "age",
] as const;
export type SortKey = (typeof sortKeys)[number] | StatColumn;

export const statColumns: readonly StatColumn[] = statKeys.flatMap((key) =>
  statNames.map((name): StatColumn => `${key}.${name}`),
);

export interface FleetSort {
  readonly key: SortKey;
  readonly descending: boolean;
}

export const firstSort: FleetSort = { key: "gpu", descending: false };

/** In the address as `power`, or `-power` for most first. */
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

/** The same column again turns round; another starts the way people mean it: most first for numbers, A first for names. */
export function nextSort(now: FleetSort, key: SortKey): FleetSort {
  if (now.key === key) return { key, descending: !now.descending };
  return { key, descending: key !== "gpu" && key !== "job" };
}

export function sortFleet(
  gpus: readonly Gpu[],
  { key, descending }: FleetSort,
  nowMs: number,
  statistics: FleetStatistics = new Map(),
): Gpu[] {
  const keyed = gpus.map((gpu) => ({ gpu, by: sortValue(gpu, key, nowMs, statistics) }));
  const sign = descending ? -1 : 1;
  keyed.sort((left, right) => {
    const [leftAbsent, rightAbsent] = [left.by === undefined, right.by === undefined];
    if (leftAbsent !== rightAbsent) return leftAbsent ? 1 : -1;
    return (
      sign * compare(left.by, right.by) || byPlace(left.gpu, right.gpu) * (key === "gpu" ? sign : 1)
    );
  });
  return keyed.map(({ gpu }) => gpu);
}

type Comparable = number | string | undefined;

const isStat = (key: SortKey): key is StatColumn => key.includes(".");

function sortValue(gpu: Gpu, key: SortKey, nowMs: number, statistics: FleetStatistics): Comparable {
  if (isStat(key)) return statistics.get(key)?.get(gpu.id);
  switch (key) {
    case "gpu":
      return 0;
    case "utilization":
      return number(read(gpu, "utilization"));
    case "memory":
      return number(memoryRatio(gpu));
    case "power":
      return number(read(gpu, "power"));
    case "temperature":
      return number(temperature(gpu));
    case "clock":
      return number(clock(gpu));
    case "fan":
      return number(read(gpu, "fan"));
    case "state":
      return severity(gpu, nowMs);
    case "job":
      return gpu.row.job;
    case "age":
      return gpu.row.ageMs.fast;
  }
}

const number = (value: WireValue): number | undefined =>
  typeof value === "number" ? value : undefined;

function compare(left: Comparable, right: Comparable): number {
  if (typeof left === "number" && typeof right === "number") return left - right;
  return compareText(String(left ?? ""), String(right ?? ""));
}

const byPlace = (left: Gpu, right: Gpu): number =>
  compareText(left.device.host, right.device.host) || left.device.index - right.device.index;

const collator = new Intl.Collator("en", { numeric: true });
const compareText = (left: string, right: string): number => collator.compare(left, right);
