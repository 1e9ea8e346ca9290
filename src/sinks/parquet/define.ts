/** `parquet:DIR`, `s3://…` and `webhdfs://…`: the lake, Parquet files by day for DuckDB, Spark and pandas. */
import * as v from "valibot";
import { text } from "../../config/fields.ts";
import { addressOf } from "../../net/objects/open.ts";
import { defineSink } from "../../pipeline/sink.ts";
import { lakeOptions } from "./options.ts";
import { s3Options } from "../../net/objects/s3-options.ts";

export const parquet = defineSink({
  name: "parquet",
  summary:
    "Writes Parquet files by day into a folder: one row per GPU and timestamp, and a long table.",
  mainOption: "folder",
  options: v.strictObject({
    folder: v.pipe(
      text("a folder"),
      v.description("Folder of the tables; created if it does not exist."),
    ),
    ...lakeOptions,
  }),
  examples: [
    { url: "parquet:lake", description: "into the folder lake" },
    {
      url: "parquet:lake?mirror=s3://backup/lake&retention=30d",
      description: "a month, and a copy in S3",
    },
  ],
  create: async ({ folder, ...options }, context) => {
    const { openLakeSink } = await import("./open.ts");
    return openLakeSink("parquet", folder, options, context);
  },
});

export const s3 = defineSink({
  name: "s3",
  summary: "The same Parquet files in a bucket of S3 or a compatible server.",
  mainOption: "bucket",
  options: v.strictObject({
    bucket: v.pipe(
      text("//BUCKET/PREFIX"),
      v.description("Bucket and path prefix. Credentials come from AWS_* variables."),
    ),
    ...s3Options,
    ...lakeOptions,
  }),
  examples: [
    { url: "s3://metrics/lake?region=eu-central-1", description: "to Amazon S3" },
    { url: "s3://metrics/lake?endpoint=http://minio:9000", description: "to a compatible server" },
  ],
  create: async ({ bucket, endpoint, region, "path-style": pathStyle, ...options }, context) => {
    const { openLakeSink } = await import("./open.ts");
    const address = addressOf("s3", bucket, { endpoint, region, "path-style": pathStyle });
    return openLakeSink("s3", address, options, context);
  },
});

export const webhdfs = defineSink({
  name: "webhdfs",
  summary: "The same Parquet files in HDFS, through WebHDFS.",
  mainOption: "path",
  options: v.strictObject({
    path: v.pipe(
      text("//HOST:PORT/PATH"),
      v.description("Web address of the NameNode, and folder."),
    ),
    user: v.optional(
      v.pipe(text("a user"), v.description("User name in HDFS. Default: HADOOP_USER_NAME.")),
    ),
    ...lakeOptions,
  }),
  examples: [{ url: "webhdfs://namenode:9870/lake?user=gpulse", description: "to HDFS" }],
  create: async ({ path, user, ...options }, context) => {
    const { openLakeSink } = await import("./open.ts");
    return openLakeSink("webhdfs", addressOf("webhdfs", path, { user }), options, context);
  },
});
