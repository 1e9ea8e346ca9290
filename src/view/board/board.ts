/** A board: an ordered list of PromQL panels, with variables. Shared by the hub, which validates and stores it, and the page. */
import type { Unit } from "../../model/catalogue/entry.ts";

export const panelKinds = ["timeseries", "stat", "gauge", "table", "heatmap"] as const;
export type PanelKind = (typeof panelKinds)[number];

export interface PanelQuery {
  /** PromQL with variables such as `$host`. `$step`, `$range` and `$rate` are durations of the chart. */
  readonly query: string;
  /** Template for the name of a line: text with labels, such as `{{host}} GPU {{gpu}}`. */
  readonly legend?: string | undefined;
}

export interface BoardPanel {
  /** Unique on its board. */
  readonly id: string;
  readonly title: string;
  readonly kind: PanelKind;
  readonly queries: readonly PanelQuery[];
  /** Derived from the query if absent. */
  readonly unit?: Unit | undefined;
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  /** Width in twelfths of the board. */
  readonly columns: number;
  /** Height in rows of the grid. */
  readonly rows: number;
}

export interface BoardVariable {
  readonly name: string;
  /** The variable's values are those of this label on the series that the selector matches. */
  readonly label: string;
  readonly selector: string;
  /** Always has one value: the first, until the user selects another. Without `single`, no selection means all values. */
  readonly single?: true | undefined;
}

export interface Board {
  readonly title: string;
  readonly variables: readonly BoardVariable[];
  readonly panels: readonly BoardPanel[];
}

export const boardLimits = {
  boards: 200,
  panels: 60,
  queriesPerPanel: 8,
  queryCharacters: 4_000,
  /** Limit over all queries of a board: parsing 4,000 characters takes up to 33 ms. */
  totalQueryCharacters: 40_000,
  variables: 8,
  titleCharacters: 120,
  /** One board as JSON. */
  boardBytes: 256 * 1024,
  /** All boards with their earlier versions. */
  totalBytes: 24 * 2 ** 20,
  /** An imported file. */
  importBytes: 2 * 2 ** 20,
  earlierVersions: 10,
  columns: 12,
  rows: 8,
} as const;

/** The variables of a new board. */
export const defaultVariables: readonly BoardVariable[] = [
  { name: "host", label: "host", selector: "gpu_info" },
  { name: "model", label: "model", selector: "gpu_info" },
  { name: "job", label: "workload", selector: "gpu_owner_info" },
];

/** Filled by the page itself, so that no variable may use these names. */
export const durationNames = ["step", "range", "rate"] as const;

export const variableName = /^[A-Za-z_]\w{0,39}$/;

/** `$name` that is not part of a longer name. */
export const variableReference = /\$([A-Za-z_]\w*)/g;

/** With a shorter range, the rate of a series that is scraped every 15 s has too few samples. */
const leastRateSeconds = 60;

/**
 * Replaces each variable by its selected value. A variable without a value matches everything, one with `single` matches nothing.
 * Values are inserted as regular expressions, so `host="$host"` becomes `host=~`. `$step` is left for the chart.
 */
export function fillVariables(
  query: string,
  variables: readonly Pick<BoardVariable, "name" | "single">[],
  chosen: ReadonlyMap<string, string>,
  rangeMs: number,
): string {
  const names = new Map(variables.map(({ name, single }) => [name, single === true ? "" : ".*"]));
  const asRegex = query.replaceAll(
    /(!?=)(\s*)(["'])\$([A-Za-z_]\w*)\3/g,
    (whole, op: string, space: string, quote: string, name: string) =>
      names.has(name) ? `${op === "=" ? "=~" : "!~"}${space}${quote}$${name}${quote}` : whole,
  );
  const rangeSeconds = Math.max(1, Math.round(rangeMs / 1_000));
  return asRegex.replaceAll(variableReference, (whole, name: string) => {
    const unchosen = names.get(name);
    if (unchosen !== undefined) return valueText(chosen.get(name)) ?? unchosen;
    if (name === "range") return `${rangeSeconds}s`;
    return name === "rate"
      ? `${Math.max(leastRateSeconds, Math.round(rangeSeconds / 250))}s`
      : whole;
  });
}

/** Escapes a value for a quoted PromQL string, where a backslash is written twice. */
const valueText = (value: string | undefined): string | undefined =>
  value
    ?.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)
    .replaceAll("\\", "\\\\")
    .replaceAll('"', String.raw`\"`)
    .replaceAll("\n", String.raw`\n`);

/** Fills a legend with the labels of one series. A label that the series lacks becomes empty. */
export const fillLegend = (legend: string, labels: Readonly<Record<string, string>>): string =>
  legend
    .replaceAll(/\{\{\s*([A-Za-z_]\w*)\s*\}\}/g, (_, name: string) => labels[name] ?? "")
    .trim();
