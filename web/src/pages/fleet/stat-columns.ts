/** The statistics over the range that the table can show and sort by. Pure. */
import type { StatisticName } from "../../../../src/view/range-statistics.ts";

export const statKeys = ["utilization", "memory", "power", "temperature"] as const;
export type StatKey = (typeof statKeys)[number];
export type StatColumn = `${StatKey}.${StatisticName}`;

/** By column, then by the id of the GPU. */
export type FleetStatistics = ReadonlyMap<StatColumn, ReadonlyMap<string, number>>;
