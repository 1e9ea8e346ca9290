/** The sources `parquet:`, `s3://` and `webhdfs://`: re-read a lake or Parquet files as frames, and logs stored next to them. */
import * as v from "valibot";
import { flag, text } from "../../config/fields.ts";
import { formatError } from "../../base/error.ts";
import { openFiles } from "../../net/objects/open.ts";
import { vendorChoice } from "../../model/vendor.ts";
import { defineSource } from "../source.ts";
import { s3Options } from "../../net/objects/s3-options.ts";

const dateTakes = "a day such as 2026-01-31";
const date = (description: string) =>
  v.optional(
    v.pipe(text(dateTakes), v.regex(/^\d{4}-\d{2}-\d{2}$/, dateTakes), v.description(description)),
  );

const readOptions = {
  start: date("First day to read (UTC)."),
  end: date("Last day to read (UTC)."),
  series: v.optional(v.pipe(flag(), v.description("Read the long table too.")), true),
  tags: v.optional(
    v.pipe(flag(), v.description("Keep the tags of rows; false to compute them again.")),
    true,
  ),
};

export const parquet = defineSource({
  name: "parquet",
  summary: "A lake or a single Parquet file, read as frames in time order.",
  mainOption: "path",
  options: v.strictObject({
    path: v.optional(
      v.pipe(
        text("a folder or a file"),
        v.description("Folder of the lake or of one of its days, or one Parquet file."),
      ),
    ),
    ...readOptions,
  }),
  examples: [
    { url: "parquet:lake", description: "a whole lake" },
    {
      url: "parquet:lake?start=2026-01-01&end=2026-01-31&tags=false",
      description: "January, to be tagged again",
    },
    { url: "parquet:day.parquet", description: "one file" },
  ],
  auto: false,
  doctor: async ({ path }) => {
    if (path === undefined)
      return { state: "not-found", says: "No lake given. Write parquet:DIR with its folder." };
    try {
      const found = await (await openFiles(path, process.env)).list("gpu/date=");
      return found.length === 0
        ? { state: "not-found", says: `There is no GPU table in ${path}.` }
        : { state: "found", says: `${path} has ${found.length} files.` };
    } catch (thrown) {
      return { state: "failed", says: formatError(thrown) };
    }
  },
  create: async ({ path, ...options }) => {
    const { openParquetSource } = await import("./source.ts");
    return openParquetSource(path, options);
  },
});

const logOptions = {
  "gpu-name": v.optional(
    v.pipe(text("the name of the GPU"), v.description("Name of the GPU of the GPU-Z logs.")),
  ),
  vendor: v.optional(
    v.pipe(text(vendorChoice), v.description("Vendor of that GPU, if nothing else shows it.")),
  ),
  uuid: v.optional(v.pipe(text("an identifier"), v.description("UUID of that GPU."))),
  timezone: v.optional(v.pipe(text("a time zone"), v.description("Time zone of the GPU-Z logs."))),
};

export const s3 = defineSource({
  name: "s3",
  summary: "Objects in a bucket: a lake, single Parquet files, GPU-Z logs and gpulse's CSV.",
  mainOption: "bucket",
  options: v.strictObject({
    bucket: v.optional(
      v.pipe(
        text("//BUCKET/PREFIX"),
        v.description("Bucket and path prefix. Credentials come from AWS_* variables."),
      ),
    ),
    ...s3Options,
    ...readOptions,
    ...logOptions,
  }),
  examples: [
    {
      url: "s3://uploads/logs?gpu-name=GeForce RTX 4090",
      description: "every GPU-Z log under logs/",
    },
    { url: "s3://metrics/lake?start=2026-01-01", description: "a lake from a given day" },
  ],
  auto: false,
  doctor: async () => ({ state: "not-found", says: "Give a bucket: s3://BUCKET/PREFIX." }),
  create: async ({ bucket, endpoint, region, "path-style": pathStyle, ...options }, context) => {
    const { openObjects } = await import("./objects.ts");
    return openObjects(
      "s3",
      bucket,
      { endpoint, region, "path-style": pathStyle },
      options,
      context,
    );
  },
});

export const webhdfs = defineSource({
  name: "webhdfs",
  summary: "Files in HDFS: a lake, single Parquet files, GPU-Z logs and gpulse's CSV.",
  mainOption: "path",
  options: v.strictObject({
    path: v.optional(
      v.pipe(text("//HOST:PORT/PATH"), v.description("Web address of the NameNode, and folder.")),
    ),
    user: v.optional(
      v.pipe(text("a user"), v.description("User name in HDFS. Default: HADOOP_USER_NAME.")),
    ),
    ...readOptions,
    ...logOptions,
  }),
  examples: [{ url: "webhdfs://namenode:9870/lake?user=gpulse", description: "a lake in HDFS" }],
  auto: false,
  doctor: async () => ({ state: "not-found", says: "Give a path: webhdfs://HOST:PORT/PATH." }),
  create: async ({ path, user, ...options }, context) => {
    const { openObjects } = await import("./objects.ts");
    return openObjects("webhdfs", path, { user }, options, context);
  },
});
