/** Results for terminals and programs: text columns, JSON, CSV and Parquet. Missing values stay missing, never 0. */
import type { AnalysisResult, ResultCell, ResultColumn } from "../analysis.ts";

/** JSON with full precision and every column's unit. */
export function jsonOf(results: readonly AnalysisResult[]): string {
  return `${JSON.stringify({ version: 1, analyses: results.map(objectOf) }, undefined, 2)}\n`;
}

export function objectOf({ name, title, columns, rows }: AnalysisResult): object {
  return {
    name,
    title,
    columns: columns.map(({ name: column, unit, help }) => ({ name: column, unit, help })),
    rows: rows.map((row) =>
      Object.fromEntries(columns.map(({ name: column }, at) => [column, row[at] ?? null])),
    ),
  };
}

export function csvOf({ columns, rows }: AnalysisResult): string {
  const lines = [columns.map(({ name }) => name), ...rows.map((row) => row.map(csvCell))];
  return lines.map((line) => `${line.join(",")}\n`).join("");
}

export function csvCell(value: ResultCell): string {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  // Prevents a spreadsheet from evaluating the cell as a formula.
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const hidden = new Set(["uuid", "model"]);
const maxShown = 200;

/** The rows as text cells, the first being the header; identity columns that only programs need are omitted. */
export function tableOf({ columns, rows }: AnalysisResult): readonly (readonly string[])[] {
  const shown = columns
    .map((column, at) => ({ column, at }))
    .filter(({ column }) => !hidden.has(column.name));
  return [
    shown.map(({ column }) => headOf(column)),
    ...rows
      .slice(0, maxShown)
      .map((row) => shown.map(({ column, at }) => cellText(row[at] ?? null, column))),
  ];
}

export const countOmittedRows = ({ rows }: AnalysisResult): number =>
  Math.max(0, rows.length - maxShown);

export const headOf = ({ name, unit }: ResultColumn): string => {
  const words = name
    .replace(/_(bytes|watts|celsius|kwh|grams|seconds|hours)(?=_|$)/, "")
    .replaceAll("_", " ");
  const shown = unit === "ratio" ? "%" : unit === "bytes" ? "GiB" : unit;
  return shown === "" ? words : `${words} (${shown})`;
};

export function cellText(value: ResultCell, { unit }: ResultColumn): string {
  if (value === null) return "–";
  if (typeof value === "string") return value;
  if (unit === "ratio") return fixed(value * 100, 1);
  if (unit === "bytes") return fixed(value / 2 ** 30, 2);
  if (unit === "°C/W" || unit === "kWh" || unit === "W/day" || unit === "°C/day")
    return fixed(value, 4);
  if (unit === "W" || unit === "°C") return fixed(value, 1);
  return Number.isInteger(value) ? String(value) : fixed(value, 3);
}

const fixed = (value: number, digits: number): string => {
  const text = value.toFixed(digits);
  return /^-0\.?0*$/.test(text) ? text.slice(1) : text;
};

/** A result as Parquet: missing values are null. */
export async function parquetOf({ columns, rows }: AnalysisResult): Promise<Uint8Array> {
  const { parquetWriteBuffer } = await import("hyparquet-writer");
  return new Uint8Array(
    parquetWriteBuffer({
      columnData: columns.map(({ name, kind }, at) => ({
        name,
        data: rows.map((row) => row[at] ?? null),
        type: kind === "text" ? ("STRING" as const) : ("DOUBLE" as const),
        nullable: true,
      })),
    }),
  );
}
