/**
 * The schema of the lake's tables, versioned. Every file has every column of its version, so that a reader that takes the
 * first file's columns is right. A new version only adds columns; none is removed, renamed or given another type.
 */
import { columns } from "../model/columns.ts";
import type { ColumnSpec, TableName } from "./table.ts";

/** Counts up when columns are added that are not derived from the catalogue; a test holds the list of version 1. */
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

/** What rows are sorted by, before their time; together with the time it is what makes a row the same row. */
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
  /** Which offsets of which logs a file holds, as JSON. */
  origins: "gpulse.origins",
} as const;
