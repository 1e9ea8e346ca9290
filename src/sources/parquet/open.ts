/** Opens a lake or one Parquet file as a source. */
import { stat } from "node:fs/promises";
import path from "node:path";
import { GpulseError } from "../../base/error.ts";
import { openFiles } from "../../net/objects/open.ts";
import { type LakeReadOptions, LakeSource } from "./source.ts";

export async function openParquetSource(
  given: string | undefined,
  options: LakeReadOptions,
): Promise<LakeSource> {
  if (given === undefined)
    throw new GpulseError(
      "SOURCE_OPTIONS",
      "parquet: needs a folder or a file: write parquet:DIR, such as parquet:gpulse-data/lake.",
    );
  const seen = await stat(given).catch(() => undefined);
  if (seen === undefined)
    throw new GpulseError("FILE_UNREADABLE", `There is no folder or file ${given}.`);
  if (!seen.isFile()) {
    const day = dayOf(given);
    return day === undefined
      ? new LakeSource(await openFiles(given, process.env), undefined, options)
      : new LakeSource(await openFiles(day.lake, process.env), undefined, { ...options, ...day });
  }
  const files = await openFiles(path.dirname(given), process.env);
  const single = { path: path.basename(given), bytes: seen.size, modifiedMs: seen.mtimeMs };
  return new LakeSource(files, single, options);
}

/** The folder of one day of a lake's GPU table, as a person completes it in a shell. */
function dayOf(
  given: string,
): { lake: string; start: string; end: string; series: false } | undefined {
  const [, date] = /^date=(\d{4}-\d{2}-\d{2})$/.exec(path.basename(given)) ?? [];
  const table = path.dirname(path.resolve(given));
  if (date === undefined || path.basename(table) !== "gpu") return undefined;
  return { lake: path.dirname(table), start: date, end: date, series: false };
}
