/** The lake a hub keeps beside its history: flags, keys of gpulse.yaml, and what they come to. */
import path from "node:path";
import type { Command } from "commander";
import * as v from "valibot";
import { checkValue } from "../../config/check.ts";
import { durationMs, text } from "../../config/fields.ts";
import { GpulseError } from "../../base/error.ts";

export interface LakeFlags {
  /** False where --no-lake was given. */
  readonly lake?: string | false;
  readonly lakeRetention?: string;
  readonly lakeMirror?: string;
}

export interface LakeSettings {
  /** A folder, s3://… or webhdfs://…; `data` is the folder `lake` in the data folder. */
  readonly place: string | undefined;
  readonly retentionMs: number;
  readonly mirror: string | undefined;
}

const places = "a folder, s3://BUCKET/PREFIX, webhdfs://HOST:PORT/PATH, or none";
const lakeRetention = () => durationMs(86_400_000, 1_000 * 365 * 86_400_000);

export const lakeKeys = {
  lake: v.optional(
    v.pipe(
      text(places),
      v.description(
        "Where everything is kept as Parquet too, for SQL: see [the lake](../guides/lake.md). `none` for nowhere; `gpulse up` has it in the data folder.",
      ),
    ),
  ),
  lake_retention: v.optional(
    v.pipe(lakeRetention(), v.description("How long the lake keeps a day.")),
  ),
  lake_mirror: v.optional(
    v.pipe(text(places), v.description("Where finished files of the lake are copied to.")),
  ),
};

export function addLakeFlags(command: Command, isOn: boolean): void {
  command
    .option(
      "--lake <dir>",
      `keep everything as Parquet too, in a folder, s3://… or webhdfs://… (default: ${isOn ? "lake in the data folder" : "nowhere"})`,
    )
    .option("--no-lake", "keep no Parquet files")
    .option("--lake-retention <duration>", "how long the lake keeps a day (default: 90d)")
    .option("--lake-mirror <url>", "copy finished files of the lake there");
}

export function lakeSettings(
  flags: LakeFlags,
  file:
    | {
        readonly lake?: string | undefined;
        readonly lake_retention?: number | undefined;
        readonly lake_mirror?: string | undefined;
      }
    | undefined,
): LakeSettings {
  const given = flags.lake === false ? "none" : (flags.lake ?? file?.lake);
  return {
    place: given === "" ? undefined : given,
    retentionMs: retentionOf(flags.lakeRetention) ?? file?.lake_retention ?? 90 * 86_400_000,
    mirror: flags.lakeMirror ?? file?.lake_mirror,
  };
}

/** Where the lake is; undefined where there is none. */
export function resolveLakeLocation(
  { place }: LakeSettings,
  dataDir: string,
  isOn: boolean,
): string | undefined {
  if (place === "none") return undefined;
  return place ?? (isOn ? path.join(dataDir, "lake") : undefined);
}

function retentionOf(given: string | undefined): number | undefined {
  if (given === undefined || given === "") return undefined;
  const checked = checkValue(lakeRetention(), given);
  if (checked.ok) return checked.value;
  throw new GpulseError(
    "USAGE",
    `--lake-retention ${checked.problems[0]?.sentence ?? "is not understood."}`,
  );
}
