/** What a chart draws: lines on one grid of instants, limits, and marks on the time axis. */
import type { Unit } from "../../../src/model/catalogue/entry.ts";
import type { Labels, TimeGrid } from "../query/columns.ts";
import type { TimeWindow } from "../view-state/range.ts";

export interface ChartLine {
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
  /** Set where the line is a series of this metric as it is. */
  readonly metric?: string;
}

/** What the store has of a line over the whole range, from every sample: src/view/range-statistics.ts has the meaning. */
export interface StoredStatistics {
  /** The present value, or the last of a range that is over. */
  readonly newest: number | undefined;
  readonly min: number;
  readonly max: number;
  readonly mean: number;
}

export type StoredStatisticsOf = (line: ChartLine) => StoredStatistics | undefined;

export interface ChartData {
  readonly grid: TimeGrid;
  readonly window: TimeWindow;
  readonly lines: readonly ChartLine[];
  /** How many more there were than a chart can show. */
  readonly leftOut?: number;
}

export interface ChartQuery {
  /** `$step` becomes the distance of the points. */
  readonly query: string;
  /** Names a line by its labels; `all` are those of every line of the query. */
  readonly label: string | ((labels: Labels, all: readonly Labels[]) => string);
  /** The metric whose series are drawn as they are: their statistics are the store's, not those of the points. */
  readonly metric?: string;
  /** Another family's hue for this query's lines. */
  readonly family?: ColourFamily;
  /** Dashed: a limit that the device reports over time. */
  readonly dashed?: boolean;
}

/** A level drawn as a dashed line: the device's own limit, or an alert's threshold. */
export interface ChartLimit {
  readonly label: string;
  readonly value: number;
  readonly level?: "note" | "warn" | "bad";
}

/** Something that happened, as a small mark on the time axis. */
export interface ChartMark {
  readonly timeMs: number;
  /** Where it lasted. */
  readonly endMs?: number;
  readonly text: string;
  readonly level?: "note" | "warn" | "bad";
}

/** One observation behind the lines, as a dot. */
export interface ChartExemplar {
  readonly timeMs: number;
  readonly value: number;
  readonly text: string;
  /** The page of its trace. */
  readonly href?: string;
}

export const colourFamilies = [
  "utilization",
  "memory",
  "temperature",
  "power",
  "clock",
  "fan",
  "count",
] as const;
export type ColourFamily = (typeof colourFamilies)[number];

export interface ChartStyle {
  readonly title: string;
  readonly unit: Unit;
  readonly family: ColourFamily;
  /** The values at the lower and upper edge; found from the data where not given. */
  readonly min?: number;
  readonly max?: number;
  /** Powers of ten at equal distances; 0 and less cannot be drawn. */
  readonly isLog?: boolean;
}
