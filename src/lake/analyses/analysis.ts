/** What an analysis is: its SQL file, the lake's columns it reads, the parameters it takes and the columns it answers with. */
import type { ParameterName } from "./parameters.ts";

export interface ResultColumn {
  readonly name: string;
  readonly kind: "text" | "number";
  /** As shown behind the number; empty for counts and texts. */
  readonly unit: string;
  readonly help: string;
}

export interface Analysis {
  readonly name: string;
  readonly title: string;
  readonly summary: string;
  /** The table it reads: `jobs`, or the GPU table where absent. */
  readonly table?: "jobs";
  /** Of the jobs table: the column of `samples` that its hours are summed up by; its SQL is sql/jobs.sql. */
  readonly groupBy?: string;
  /** Columns of the lake's table; one that no file has counts as absent throughout. */
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
