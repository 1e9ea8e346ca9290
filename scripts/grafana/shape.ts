/** What a dashboard is before it is Grafana's JSON: rows of panels, each with what it asks. Says nothing of how Grafana writes it. */

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
  /** The legend; in a table the name of the value's column. */
  readonly legend: string;
  /** A limit, not a reading: drawn dashed. */
  readonly dashed?: boolean;
  /** Of a column, where it is not the panel's. */
  readonly unit?: string;
}

export interface InfluxTarget {
  readonly query: string;
  /** Absent in Flux, which names series by itself. */
  readonly alias?: string;
}

/** Where a value changes its colour: from the first, which holds below every other. */
export type Steps = readonly (readonly [from: number | null, color: string])[];

/** Where a number has no good and bad. Grafana, reported nothing, would turn it red at 80. */
export const neutral: Steps = [[null, "blue"]];

/** Any at all is bad. */
export const none: Steps = [
  [null, "green"],
  [1, "red"],
];

/** More is worse. */
export const rising = (warm: number, hot: number): Steps => [
  [null, "green"],
  [warm, "orange"],
  [hot, "red"],
];

/** Less is worse. */
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
  /** What is seen, and what to do about it; of a text panel its text. */
  readonly about?: string;
  readonly targets: readonly (PromTarget | InfluxTarget)[];
  /** Columns of 24. */
  readonly width: number;
  readonly height?: number;
  readonly range?: readonly [min: number | undefined, max: number | undefined];
  readonly steps?: Steps;
  readonly stacked?: boolean;
  /** What numbers mean, such as 1 for up. */
  readonly words?: Readonly<Record<string, readonly [text: string, color: string]>>;
  readonly decimals?: number;
  /** In a table: which target a row is of. Left out elsewhere, where host and GPU say it. */
  readonly showsTarget?: boolean;
  /** Where a click on a row or series leads: the uid of a dashboard and the labels that it takes along. */
  readonly leadsTo?: { readonly uid: string; readonly labels: readonly string[] };
  /** What must be there for it to show anything, where not every installation has it. */
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
  /** Takes text and value out of an answer. */
  readonly regex?: string;
  /** `all`: several at once, all by default. `some`: several at once, the first by default. `one`: only one. */
  readonly takes: "all" | "some" | "one";
  /** What must be there for it to have choices, where not every installation has it. */
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
