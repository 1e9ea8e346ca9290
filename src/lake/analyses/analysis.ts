/**
 * The declaration of an analysis: its SQL file, the columns it reads, the parameters it accepts and the columns of its result.
 */
import type { ParameterName } from "./parameters.ts";

export interface ResultColumn {
  readonly name: string;
  readonly kind: "text" | "number";
  /** Displayed after the number; empty for counts and texts. */
  readonly unit: string;
  readonly help: string;
}

export interface Analysis {
  readonly name: string;
  readonly title: string;
  readonly summary: string;
  /** The table that it reads: `jobs`; the GPU table if absent. */
  readonly table?: "jobs";
  /** For the jobs table: the column of `samples` by which hours are summed; the SQL is sql/jobs.sql. */
  readonly groupBy?: string;
  /** Columns of the lake's table; a column that no file has is null in every row. */
  readonly reads: readonly string[];
  readonly parameters: readonly ParameterName[];
  readonly columns: readonly ResultColumn[];
}

export type ResultCell = string | number | null;

export interface AnalysisResult {
  readonly name: string;
  readonly title: string;
  readonly columns: readonly ResultColumn[];
  readonly rows: readonly (readonly ResultCell[])[];
}

export const number = (name: string, unit: string, help: string): ResultColumn => ({
  name,
  kind: "number",
  unit,
  help,
});

export const text = (name: string, help: string): ResultColumn => ({
  name,
  kind: "text",
  unit: "",
  help,
});
