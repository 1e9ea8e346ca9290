/** deploy/spark/columns.json: the lake's GPU table as the Spark job writes it, with Spark's type names. */
import { tables } from "../../src/lake/schema.ts";
import type { ColumnKind } from "../../src/lake/table.ts";

const sparkTypes: Readonly<Record<ColumnKind, string>> = {
  time: "timestamp",
  text: "string",
  number: "double",
  integer: "int",
  boolean: "boolean",
};

export function sparkColumnsFile(): string {
  const columns = Object.fromEntries(tables.gpu.map(({ name, kind }) => [name, sparkTypes[kind]]));
  return `${JSON.stringify({ version: 1, columns }, undefined, 2)}\n`;
}
