/** A dashboard before it becomes Grafana's JSON: rows of panels with their queries, independent of Grafana's format. */

export const panelKinds = [
  "timeseries",
  "stat",
  "gauge",
  "bargauge",
  "table",
  "heatmap",
  "state-timeline",
  "text",
] as const;
export type PanelKind = (typeof panelKinds)[number];

export interface PromTarget {
  readonly expr: string;
  /** The legend; in a table the title of the value's column. */
  readonly legend: string;
  /** A limit, not a reading: drawn dashed. */
  readonly dashed?: boolean;
  /** The unit of a column, if it differs from the panel's. */
  readonly unit?: string;
}

export interface InfluxTarget {
  readonly query: string;
  /** Absent in Flux, which names series itself. */
  readonly alias?: string;
}

/** Thresholds at which a value changes its colour; the first applies below all others. */
export type Steps = readonly (readonly [from: number | null, color: string])[];

/** For numbers that are neither good nor bad. Without thresholds Grafana would turn them red at 80. */
export const neutral: Steps = [[null, "blue"]];

/** Any value above zero is bad. */
export const none: Steps = [
  [null, "green"],
  [1, "red"],
];

/** Higher is worse. */
export const rising = (warm: number, hot: number): Steps => [
  [null, "green"],
  [warm, "orange"],
  [hot, "red"],
];

/** Lower is worse. */
export const falling = (critical: number, low: number): Steps => [
  [null, "red"],
  [critical, "orange"],
  [low, "green"],
];

export interface Panel {
  readonly title: string;
  readonly kind: PanelKind;
  /** Grafana's name of the unit. */
  readonly unit: string;
  /** What the panel shows, and what to do about it; for a text panel its text. */
  readonly about?: string;
  readonly targets: readonly (PromTarget | InfluxTarget)[];
  /** Columns of 24. */
  readonly width: number;
  readonly height?: number;
  readonly range?: readonly [min: number | undefined, max: number | undefined];
  readonly steps?: Steps;
  readonly stacked?: boolean;
  /** Display texts of values, such as 1 for up. */
  readonly words?: Readonly<Record<string, readonly [text: string, color: string]>>;
  readonly decimals?: number;
  /** In a table: shows the scrape target of a row. Omitted if host and GPU identify it. */
  readonly showsTarget?: boolean;
  /** The link of a row or series: the uid of a dashboard and the labels passed to it. */
  readonly leadsTo?: { readonly uid: string; readonly labels: readonly string[] };
  /** The precondition for showing data, if not every installation meets it. */
  readonly needs?: string;
}

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

export interface Variable {
  readonly name: string;
  readonly label: string;
  readonly type: "query" | "textbox";
  readonly query: string;
  /** Extracts text and value from the results. */
  readonly regex?: string;
  /** `all`: multiple selection, all by default. `some`: multiple selection, the first by default. `one`: single selection. */
  readonly takes: "all" | "some" | "one";
  /** The precondition for having choices, if not every installation meets it. */
  readonly needs?: string;
}

export interface Board {
  readonly uid: string;
  readonly title: string;
  readonly about: string;
  readonly tags: readonly string[];
  readonly source: "prometheus" | "influxdb";
  readonly variables: readonly Variable[];
  readonly rows: readonly Row[];
}

export const up = { 0: ["down", "red"], 1: ["up", "green"] } as const;
export const yesNo = { 0: ["no", "green"], 1: ["yes", "red"] } as const;
