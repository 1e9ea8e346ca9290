/** Exports a chart as a file, created in the browser. Contains range and units; numbers are written as in the hub's response. */
import { formatValue } from "../../../src/formats/prometheus/page.ts";
import { timesOf } from "../query/columns.ts";
import type { ChartData, ChartStyle } from "./model.ts";

const iso = (ms: number): string => new Date(ms).toISOString();

/** One row per instant; a missing reading is an empty cell, never a 0. */
export function csvOf({ title, unit }: ChartStyle, { grid, window, lines }: ChartData): string {
  const head = [
    `# ${title}`,
    `# from ${iso(window.fromMs)} to ${iso(window.toMs)}, step ${grid.stepMs / 1_000} s`,
    `# unit ${unit}`,
  ].map((line) => line.replaceAll(/[\r\n]/g, " "));
  const rows = [
    ["time", ...lines.map(({ label }) => label)].map(quoted).join(","),
    ...[...timesOf(grid)].map((ms, at) =>
      [iso(ms), ...lines.map(({ values }) => written(values[at]))].join(","),
    ),
  ];
  return `${[...head, ...rows].join("\n")}\n`;
}

export function jsonOf({ title, unit }: ChartStyle, { grid, window, lines }: ChartData): string {
  const times = [...timesOf(grid)];
  const series = lines.map(({ label, labels, values }) => ({
    label,
    ...(labels === undefined ? {} : { labels }),
    points: times.flatMap((ms, at) => {
      const text = written(values[at]);
      return text === "" ? [] : [[ms / 1_000, text]];
    }),
  }));
  const file = {
    title,
    unit,
    from: iso(window.fromMs),
    to: iso(window.toMs),
    stepSeconds: grid.stepMs / 1_000,
    series,
  };
  return `${JSON.stringify(file, null, 2)}\n`;
}

const written = (value: number | undefined): string =>
  value === undefined || Number.isNaN(value) ? "" : formatValue(value);

/** A spreadsheet would interpret text with such a start as a formula. */
export const quoted = (text: string): string => {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

export function fileName(title: string, { fromMs }: { fromMs: number }, ending: string): string {
  const name = title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, "-")
    .replaceAll(/^-|-$/g, "");
  return `gpulse-${name === "" ? "chart" : name}-${iso(fromMs).slice(0, 19).replaceAll(":", "")}Z.${ending}`;
}

export function save(content: Blob, name: string): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
