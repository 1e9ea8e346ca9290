/** Small lakes for tests: rows as a person would write them down, in the files a lake has. */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parquetWriteBuffer } from "hyparquet-writer";
import { FolderFiles } from "../files/folder.ts";
import type { AnalysisResult } from "./analysis.ts";
import { runOnDuckdb } from "./duckdb/engine.ts";
import { listLake } from "./lake-files.ts";
import { analyses, findAnalysis } from "./list.ts";
import type { Given } from "./parameters.ts";
import { readParameters } from "./parameters.ts";

export interface LakeRow {
  readonly timeMs: number;
  readonly uuid?: string;
  readonly gpu?: number;
  readonly host?: string;
  readonly [column: string]: number | string | null | undefined;
}

const identity = new Set(["timeMs", "uuid", "gpu", "host"]);

/** Writes the rows as one more file of their date; columns are those that some row names. */
export function writeLake(dir: string, rows: readonly LakeRow[], file = "part"): void {
  const dates = new Map<string, LakeRow[]>();
  for (const row of rows) {
    const date = new Date(row.timeMs).toISOString().slice(0, 10);
    dates.set(date, [...(dates.get(date) ?? []), row]);
  }
  for (const [date, own] of dates) {
    const names = [...new Set(own.flatMap((row) => Object.keys(row)))].filter(
      (one) => !identity.has(one),
    );
    const bytes = parquetWriteBuffer({
      columnData: [
        { name: "time", data: own.map(({ timeMs }) => new Date(timeMs)), type: "TIMESTAMP" },
        { name: "host", data: own.map(({ host }) => host ?? "lab"), type: "STRING" },
        { name: "uuid", data: own.map(({ uuid }) => uuid ?? "GPU-a"), type: "STRING" },
        { name: "gpu", data: own.map(({ gpu }) => gpu ?? 0), type: "INT32" },
        { name: "model", data: own.map(() => "Test GPU"), type: "STRING" },
        ...names.map((name) => ({
          name,
          data: own.map((row) => (typeof row[name] === "number" ? row[name] : null)),
          type: "DOUBLE" as const,
          nullable: true,
        })),
      ],
    });
    const folder = path.join(dir, "gpu", `date=${date}`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, `${file}.parquet`), Buffer.from(bytes));
  }
}

export async function analyseLake(
  dir: string,
  names: readonly string[],
  given: Given = {},
): Promise<readonly AnalysisResult[]> {
  const settings = readParameters(given, 0);
  const lake = await listLake(new FolderFiles(dir), settings);
  return runOnDuckdb(
    {
      analyses: names[0] === "all" ? analyses : names.flatMap((name) => findAnalysis(name) ?? []),
      settings,
      paths: lake.files.map((file) => path.join(dir, file.path)),
      span: lake.span,
    },
    { tempDir: path.join(dir, "temporary") },
  );
}

/** The rows as objects, for comparing the columns a test is about. */
export const objects = (result: AnalysisResult | undefined): Record<string, unknown>[] =>
  (result?.rows ?? []).map((row) =>
    Object.fromEntries(result?.columns.map(({ name }, place) => [name, row[place]]) ?? []),
  );
