/** The figures over the range that the table can show and be sorted by. Pure. */

export const statKeys = ["utilization", "memory", "power", "temperature"] as const;
export type StatKey = (typeof statKeys)[number];
export const statNames = ["min", "avg", "max"] as const;
export type StatName = (typeof statNames)[number];
export type StatColumn = `${StatKey}.${StatName}`;

/** By column, then by the id of the GPU. */
export type FleetStatistics = ReadonlyMap<StatColumn, ReadonlyMap<string, number>>;
