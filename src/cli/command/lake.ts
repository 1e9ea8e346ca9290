/** The flags and keys of the lake that a hub writes beside its history. */
import path from "node:path";
import type { Command } from "commander";
import * as v from "valibot";
import { durationMs, text } from "../../config/fields.ts";
import type { LakeFormat } from "../../lake/commit.ts";
import type { ConfigFile } from "./schema.ts";
import { addSettingFlags, type FlagsOf, keysOf, readSetting } from "./setting.ts";

export interface LakeFlags extends Omit<FlagsOf<typeof lakeSettingTable>, "lake"> {
  /** False if --no-lake was given. */
  readonly lake?: string | false;
}

export interface LakeSettings {
  /** A folder, s3://… or webhdfs://…; `data` is the folder `lake` in the data folder. */
  readonly place: string | undefined;
  readonly retentionMs: number;
  readonly mirror: string | undefined;
  readonly format: LakeFormat;
}

const places = "a folder, s3://BUCKET/PREFIX, webhdfs://HOST:PORT/PATH, or none";

const lakeSettingTable = {
  lake: {
    schema: text(places),
    description:
      "Where to also store everything as Parquet, for SQL: see [the lake](../guides/lake.md). `none`: nowhere. Default of `gpulse up`: `lake` in the data folder.",
  },
  lake_retention: {
    schema: durationMs(86_400_000, 1_000 * 365 * 86_400_000),
    flag: ["--lake-retention <duration>", "how long to retain the days of the lake"],
    fallback: "90d",
    description: "How long to retain the days of the lake.",
  },
  lake_format: {
    schema: v.picklist(["parquet", "iceberg"], "parquet or iceberg"),
    flag: ["--lake-format <format>", "format of a new lake: parquet, or iceberg tables"],
    fallback: "parquet",
    description:
      "Format of a new lake: plain Parquet by day, or [Iceberg tables](../guides/lake.md#write-iceberg-tables). An existing lake keeps its format.",
  },
  lake_mirror: {
    schema: text(places),
    flag: ["--lake-mirror <url>", "copy finished files of the lake to this folder or URL"],
    description: "Where finished files of the lake are copied to.",
  },
} as const;

export const lakeKeys = keysOf(lakeSettingTable);

export function addLakeFlags(command: Command, isOn: boolean): void {
  command
    .option(
      "--lake <dir>",
      `also store everything as Parquet in this folder, s3://… or webhdfs://… (default: ${isOn ? "lake in the data folder" : "none"})`,
    )
    .option("--no-lake", "store no Parquet files");
  addSettingFlags(command, lakeSettingTable);
}

export function lakeSettings(flags: LakeFlags, file: ConfigFile["hub"]): LakeSettings {
  const given = flags.lake === false ? "none" : (flags.lake ?? file?.lake);
  return {
    place: given === "" ? undefined : given,
    retentionMs: readSetting(lakeSettingTable, "lake_retention", flags, {}, file),
    format: readSetting(lakeSettingTable, "lake_format", flags, {}, file),
    mirror: flags.lakeMirror ?? file?.lake_mirror,
  };
}

/** Location of the lake; undefined if disabled. */
export function resolveLakeLocation(
  { place }: LakeSettings,
  dataDir: string,
  isOn: boolean,
): string | undefined {
  if (place === "none") return undefined;
  return place ?? (isOn ? path.join(dataDir, "lake") : undefined);
}
