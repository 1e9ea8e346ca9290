/** The statistics over the range that the table can show and sort by. Pure. */
import type { WireValue } from "../../../../src/view/live/protocol.ts";
import type { StatisticName } from "../../../../src/view/range-statistics.ts";

export const statKeys = ["utilization", "memory", "power", "temperature"] as const;
export type StatKey = (typeof statKeys)[number];
export type StatColumn = `${StatKey}.${StatisticName}`;

/** By column, then by the id of the GPU. */
export type FleetStatistics = ReadonlyMap<StatColumn, ReadonlyMap<string, number>>;

/** Statistics are older than the value of now: a new lowest or highest value counts at once. */
export function withNewest(name: StatisticName, own: number, newest: WireValue): number {
  if (typeof newest !== "number") return own;
  if (name === "min") return Math.min(own, newest);
  return name === "max" ? Math.max(own, newest) : own;
}
