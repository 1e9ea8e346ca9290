/** Opens a lake or one Parquet file as a source. */
import { stat } from "node:fs/promises";
import path from "node:path";
import { GpulseError } from "../../errors/error.ts";
import { openFiles } from "../../files/open.ts";
import type { ReadOptions } from "./source.ts";
import { LakeSource } from "./source.ts";

export async function openParquetSource(
  given: string | undefined,
  options: ReadOptions,
): Promise<LakeSource> {
  if (given === undefined)
    throw new GpulseError(
      "SOURCE_OPTIONS",
      "parquet: needs a folder or a file: write parquet:DIR, such as parquet:gpulse-data/lake.",
    );
  const seen = await stat(given).catch(() => undefined);
  if (seen === undefined)
    throw new GpulseError("FILE_UNREADABLE", `There is no folder or file ${given}.`);
  if (!seen.isFile())
    return new LakeSource(await openFiles(given, process.env), undefined, options);
  const files = await openFiles(path.dirname(given), process.env);
  const single = { path: path.basename(given), bytes: seen.size, modifiedMs: seen.mtimeMs };
  return new LakeSource(files, single, options);
}
