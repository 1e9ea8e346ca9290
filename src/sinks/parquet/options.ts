/** The lake options that are the same for every storage location. */
import * as v from "valibot";
import { durationMs, flag, text, wholeNumber } from "../../config/fields.ts";

export const lakeOptions = {
  rows: v.optional(
    v.pipe(wholeNumber(1_000, 1_000_000), v.description("Rows of a file at most.")),
    122_880,
  ),
  roll: v.optional(
    v.pipe(
      durationMs(100, 86_400_000),
      v.description(
        "How often rows become files; a pipe's checkpoints by time are at least this far apart.",
      ),
    ),
    "1m",
  ),
  memory: v.optional(
    v.pipe(
      wholeNumber(2 ** 20, 2 ** 34),
      v.description("Bytes held in memory before a write is waited for."),
    ),
    128 * 2 ** 20,
  ),
  series: v.optional(
    v.pipe(flag(), v.description("Keep what has no column too, in the long table.")),
    true,
  ),
  merge: v.optional(
    v.pipe(
      v.picklist(["own", "all", "none"], "own, all or none"),
      v.description("Which small files are merged: those this process wrote, all, or none."),
    ),
    "own",
  ),
  retention: v.optional(
    v.pipe(
      durationMs(86_400_000, 1_000 * 365 * 86_400_000),
      v.description("Days older than this are removed; kept for ever where not given."),
    ),
  ),
  format: v.optional(
    v.pipe(
      v.picklist(["parquet", "iceberg"], "parquet or iceberg"),
      v.description(
        "What a new lake is: plain Parquet by day, or Iceberg tables; a lake that exists stays what it is.",
      ),
    ),
    "parquet",
  ),
  snapshots: v.optional(
    v.pipe(
      durationMs(60_000, 365 * 86_400_000),
      v.description("How long earlier snapshots of an Iceberg table can be read."),
    ),
    "1d",
  ),
  location: v.optional(
    v.pipe(
      text("an address such as hdfs://namenode:8020/lake"),
      v.description("How Iceberg's readers address a new lake, where it differs from the sink's."),
    ),
  ),
  mirror: v.optional(
    v.pipe(
      text("a folder, s3://BUCKET/PREFIX or webhdfs://HOST:PORT/PATH"),
      v.description("Where finished files are copied to as well."),
    ),
  ),
  name: v.optional(
    v.pipe(
      text("a name"),
      v.description("Begins the names of files; this machine's where not given."),
    ),
  ),
};

const schema = v.strictObject(lakeOptions);
export type LakeSinkOptions = v.InferOutput<typeof schema>;
