/** What a chart draws: lines on one grid of instants, limits, and marks on the time axis. */
import type { Unit } from "../../../src/model/catalogue/entry.ts";
import type { Grid } from "../query/columns.ts";
import type { Window } from "../view-state/range.ts";

export interface Line {
  /** The same from answer to answer: what was hidden stays hidden, and keeps its colour. */
  readonly key: string;
  readonly label: string;
  /** One per instant; NaN where there was no reading. */
  readonly values: Float64Array;
  /** A CSS colour, variables allowed. */
  readonly colour: string;
  /** Drawn dashed: a limit that moves. */
  readonly dashed?: boolean;
  /** For the export: the labels as the hub has them. */
  readonly labels?: Readonly<Record<string, string>>;
}

export interface ChartData {
  readonly grid: Grid;
  readonly window: Window;
  readonly lines: readonly Line[];
  /** How many more there were than a chart can show. */
  readonly leftOut?: number;
}

/** A level drawn as a dashed line: the device's own limit, or an alert's threshold. */
export interface Limit {
  readonly label: string;
  readonly value: number;
  readonly level?: "note" | "warn" | "bad";
}

/** Something that happened, as a small mark on the time axis. */
export interface Mark {
  readonly timeMs: number;
  /** Where it lasted. */
  readonly endMs?: number;
  readonly text: string;
  readonly level?: "note" | "warn" | "bad";
}

export const families = [
  "utilization",
  "memory",
  "temperature",
  "power",
  "clock",
  "fan",
  "count",
] as const;
export type Family = (typeof families)[number];

export interface Look {
  readonly title: string;
  readonly unit: Unit;
  readonly family: Family;
  /** The values at the lower and upper edge; found from the data where not given. */
  readonly min?: number;
  readonly max?: number;
}
