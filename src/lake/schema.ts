/**
 * The versioned schema of the lake's tables. Every file has every column of its version, so that a reader that uses the first
 * file's columns is right. A new version only adds columns; none is removed, renamed or retyped.
 */
import { columns } from "../model/columns.ts";
import type { ColumnSpec, TableName } from "./table.ts";

/** Incremented when columns are added that are not derived from the catalogue; a test contains the list of version 1. */
export const schemaVersion = 1;

const gpuTable: readonly ColumnSpec[] = [
  { name: "time", kind: "time", required: true },
  { name: "host", kind: "text" },
  { name: "uuid", kind: "text", required: true },
  { name: "gpu", kind: "integer" },
  { name: "vendor", kind: "text" },
  { name: "model", kind: "text" },
  { name: "simulated", kind: "boolean" },
  { name: "tags", kind: "text" },
  ...columns.map(({ name }): ColumnSpec => ({ name, kind: "number" })),
];

const seriesTable: readonly ColumnSpec[] = [
  { name: "time", kind: "time", required: true },
  { name: "name", kind: "text", required: true },
  { name: "labels", kind: "text", required: true },
  { name: "host", kind: "text" },
  { name: "uuid", kind: "text" },
  { name: "value", kind: "number", required: true },
];

/** One row per job and hour of the UTC calendar; `project` is the Kubernetes namespace, else the account. */
const jobsTable: readonly ColumnSpec[] = [
  { name: "time", kind: "time", required: true },
  { name: "job", kind: "text", required: true },
  { name: "name", kind: "text" },
  { name: "kind", kind: "text" },
  { name: "user_name", kind: "text" },
  { name: "account", kind: "text" },
  { name: "project", kind: "text" },
  { name: "gpu_seconds", kind: "number" },
  { name: "useful_seconds", kind: "number" },
  { name: "held_idle_seconds", kind: "number" },
  { name: "joules", kind: "number" },
];

export const tables: Readonly<Record<TableName, readonly ColumnSpec[]>> = {
  gpu: gpuTable,
  series: seriesTable,
  jobs: jobsTable,
};

/** The sort columns of rows, before time; together with the time they are the row's key. */
export const sortedBy: Readonly<Record<TableName, readonly string[]>> = {
  gpu: ["uuid", "host"],
  series: ["name", "labels"],
  jobs: ["job"],
};

/** Keys of the metadata in a file's footer. */
export const metadataKeys = {
  schema: "gpulse.schema",
  version: "gpulse.version",
  table: "gpulse.table",
  /** The offsets per log in a file, as JSON. */
  origins: "gpulse.origins",
} as const;
