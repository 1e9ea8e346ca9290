/** The default thresholds of every stream. The Spark job's file is generated from the same list. */
import { findColumn } from "../../model/aliases.ts";

export interface Threshold {
  readonly tag: string;
  /** A column or its alias, which determines the unit of the limit. */
  readonly name: string;
  readonly above: number;
}

export const defaultThresholds: readonly Threshold[] = [
  { tag: "high_gpu_temperature", name: "gpu_temperature", above: 85 },
  { tag: "high_cpu_temperature", name: "cpu_temperature", above: 80 },
  { tag: "high_power", name: "board_power", above: 300 },
  { tag: "high_load", name: "gpu_load", above: 95 },
  { tag: "critical_temperature", name: "gpu_temperature", above: 90 },
  { tag: "critical_power", name: "board_power", above: 350 },
];

/** Returns the defaults with these limits replaced; null removes a threshold. */
export function thresholdsOf(
  limits: Readonly<Record<string, number | null>> = {},
): readonly Threshold[] {
  return defaultThresholds.flatMap((threshold) => {
    const limit = limits[threshold.tag];
    if (limit === null) return [];
    return [limit === undefined ? threshold : { ...threshold, above: limit }];
  });
}

/** The contents of deploy/spark/thresholds.json: a row has the tag if column * scale > above. */
export function thresholdsFile(): string {
  const thresholds = defaultThresholds.map(({ tag, name, above }) => {
    const found = findColumn(name);
    if (found === undefined) throw new Error(`BUG: a threshold names no column: ${name}`);
    return { tag, column: found.column, scale: found.scale, above };
  });
  return `${JSON.stringify({ version: 1, thresholds }, undefined, 2)}\n`;
}
