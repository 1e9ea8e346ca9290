/** Connection options of a bucket, for every component that uses one. */
import * as v from "valibot";
import { text } from "../../config/fields.ts";

export const s3Options = {
  endpoint: v.optional(
    v.pipe(text("an address"), v.description("Address of an S3-compatible server.")),
  ),
  region: v.optional(v.pipe(text("a region"), v.description("Region. Default: AWS_REGION."))),
  "path-style": v.optional(
    v.pipe(
      v.picklist(["true", "false"], "true or false"),
      v.description(
        "Put the bucket into the path instead of the host name; default with an endpoint.",
      ),
    ),
  ),
};
