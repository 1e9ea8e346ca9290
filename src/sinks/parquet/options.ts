/** The lake options that are the same for every storage location. */
import * as v from "valibot";
import { durationMs, flag, text, wholeNumber } from "../../config/fields.ts";

export const lakeOptions = {
  rows: v.optional(
    v.pipe(wholeNumber(1_000, 1_000_000), v.description("Maximum rows per file.")),
    122_880,
  ),
  roll: v.optional(
    v.pipe(
      durationMs(100, 86_400_000),
      v.description(
        "Interval at which rows are written to files; also the minimum interval of a pipe's checkpoints by time.",
      ),
    ),
    "1m",
  ),
  memory: v.optional(
    v.pipe(
      wholeNumber(2 ** 20, 2 ** 34),
      v.description("Bytes buffered in memory before the stream waits for a write."),
    ),
    128 * 2 ** 20,
  ),
  series: v.optional(
    v.pipe(flag(), v.description("Also store readings without a column, in the long table.")),
    true,
  ),
  merge: v.optional(
    v.pipe(
      v.picklist(["own", "all", "none"], "own, all or none"),
      v.description("Which small files to merge: those written by this process, all, or none."),
    ),
    "own",
  ),
  retention: v.optional(
    v.pipe(
      durationMs(86_400_000, 1_000 * 365 * 86_400_000),
      v.description("Retention: older days are removed. Default: unlimited."),
    ),
  ),
  format: v.optional(
    v.pipe(
      v.picklist(["parquet", "iceberg"], "parquet or iceberg"),
      v.description(
        "Format of a new lake: plain Parquet by day, or Iceberg tables. An existing lake keeps its format.",
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
      v.description("Address of a new lake for Iceberg's readers, if it differs from the sink's."),
    ),
  ),
  mirror: v.optional(
    v.pipe(
      text("a folder, s3://BUCKET/PREFIX or webhdfs://HOST:PORT/PATH"),
      v.description("Second location to which finished files are copied."),
    ),
  ),
  name: v.optional(
    v.pipe(
      text("a name"),
      v.description("Prefix of file names. Default: this machine's identity."),
    ),
  ),
};

const schema = v.strictObject(lakeOptions);
export type LakeSinkOptions = v.InferOutput<typeof schema>;
