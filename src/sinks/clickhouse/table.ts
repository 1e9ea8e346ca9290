/** The lake's tables in ClickHouse: their definition, and rows as JSONEachRow. An absent value is NULL, never 0. */
import { sortedBy, tables } from "../../lake/schema.ts";
import type { ColumnKind, ColumnSpec, Rows, TableName } from "../../lake/table.ts";

/** Number of recent inserts that ClickHouse deduplicates against, so that a resent block is not stored twice. */
const deduplicationWindow = 10_000;

const types: Readonly<Record<ColumnKind, string>> = {
  time: "DateTime64(3, 'UTC')",
  text: "String",
  number: "Float64",
  integer: "Int32",
  boolean: "Bool",
};

/** Text columns whose values repeat in most rows. Label columns are not among them: they have one value per series. */
const repeated = new Set(["host", "uuid", "vendor", "model", "tags", "name"]);

export const quoteName = (name: string): string => `\`${name.replace(/[\\`]/g, "\\$&")}\``;

function typeOf({ name, kind, required }: ColumnSpec, isKey: boolean): string {
  // A column of the sorting key is never NULL: an absent text is empty there.
  const bare = required === true || isKey ? types[kind] : `Nullable(${types[kind]})`;
  const type = repeated.has(name) ? `LowCardinality(${bare})` : bare;
  return isKey || kind === "time" ? type : `SimpleAggregateFunction(anyLast, ${type})`;
}

function columnsOf(table: TableName): string[] {
  const keys = sortedBy[table];
  return tables[table].map(
    (column) => `${quoteName(column.name)} ${typeOf(column, keys.includes(column.name))}`,
  );
}

/**
 * Rows of one GPU and timestamp become one when ClickHouse merges parts, or at once with `FINAL`: for example a row that
 * is sent again after a kill, or readings of another schedule. Each column keeps its last value that is not NULL.
 * @param shown the quoted name with its database
 */
export function createTable(table: TableName, shown: string): string {
  const key = [...sortedBy[table], "time"].map(quoteName).join(", ");
  return [
    `CREATE TABLE IF NOT EXISTS ${shown} (`,
    `  ${columnsOf(table).join(",\n  ")}`,
    `) ENGINE = AggregatingMergeTree`,
    `PARTITION BY toYYYYMM(time)`,
    `ORDER BY (${key})`,
    `SETTINGS non_replicated_deduplication_window = ${deduplicationWindow}`,
  ].join("\n");
}

/** Adds the columns that a table created by an earlier version lacks. */
export const addColumns = (table: TableName, shown: string): string =>
  `ALTER TABLE ${shown} ${columnsOf(table)
    .map((column) => `ADD COLUMN IF NOT EXISTS ${column}`)
    .join(", ")}`;

/** One JSON object per line: `{"time":"2026-01-01T00:00:00.000Z","uuid":"GPU-1","gpu_power_watts":314.3}`. */
export function jsonRows({ table, count, times, texts, numbers }: Rows): string {
  const isBoolean = new Set(
    tables[table].flatMap(({ name, kind }) => (kind === "boolean" ? [name] : [])),
  );
  const words = texts.map(({ name, dictionary, index }) => ({
    head: `,${JSON.stringify(name)}:`,
    words: dictionary.map((text) => JSON.stringify(text)),
    index,
  }));
  const values = numbers.map((column) => ({
    ...column,
    head: `,${JSON.stringify(column.name)}:`,
    isBoolean: isBoolean.has(column.name),
  }));
  const lines: string[] = [];
  for (let row = 0; row < count; row++) {
    let line = `{"time":"${new Date(times[row] ?? 0).toISOString()}"`;
    for (const { head, words: of, index } of words) {
      const word = of[index[row] ?? -1];
      if (word !== undefined) line += head + word;
    }
    for (const { head, isBoolean: asBoolean, present, values: of } of values) {
      if (present[row] !== 1) continue;
      const value = of[row] ?? Number.NaN;
      line += head + (asBoolean ? String(value === 1) : jsonNumber(value));
    }
    lines.push(`${line}}`);
  }
  return `${lines.join("\n")}\n`;
}

/** JSON has no NaN and no infinity; ClickHouse reads them as quoted strings. */
const jsonNumber = (value: number): string =>
  Number.isFinite(value)
    ? String(value)
    : `"${Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf"}"`;
