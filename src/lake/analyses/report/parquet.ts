/** Answers as Parquet, for whoever goes on with them: a column each, absent ones null. */
import type { AnalysisResult } from "../analysis.ts";

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
