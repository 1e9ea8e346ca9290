/** The data of a chart: lines on one grid of instants, limits, and marks on the time axis. */
import type { Unit } from "../../../src/model/catalogue/entry.ts";
import type { Labels, TimeGrid } from "../query/columns.ts";
import type { TimeWindow } from "../view-state/range.ts";

export interface ChartLine {
  /** Stable between results, so that hidden lines stay hidden and keep their colour. */
  readonly key: string;
  readonly label: string;
  /** One per instant; NaN without a reading. */
  readonly values: Float64Array;
  /** A CSS colour; may use variables. */
  readonly colour: string;
  /** Dashed: a limit that changes over time. */
  readonly dashed?: boolean;
  /** The labels from the hub, for the export. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Set if the line is an unmodified series of this metric. */
  readonly metric?: string;
}

/** Statistics of a line over the whole range, computed by the store from every sample; defined in src/view/range-statistics.ts. */
export interface StoredStatistics {
  /** The present value, or the last one of a past range. */
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
  /** Number of lines beyond the limit of a chart. */
  readonly leftOut?: number;
}

export interface ChartQuery {
  /** `$step` is replaced by the distance between points. */
  readonly query: string;
  /** Names a line by its labels; `all` are the labels of every line of the query. */
  readonly label: string | ((labels: Labels, all: readonly Labels[]) => string);
  /** Set if the query draws unmodified series of this metric: their statistics come from the store, not from the points. */
  readonly metric?: string;
  /** Colour family of this query's lines, if it differs from the chart's. */
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

/** An event, as a small mark on the time axis. */
export interface ChartMark {
  readonly timeMs: number;
  /** Set if the event lasted. */
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
  /** Values at the lower and upper edge; derived from the data if absent. */
  readonly min?: number;
  readonly max?: number;
  /** Logarithmic axis; values of 0 and less are not drawn. */
  readonly isLog?: boolean;
}
