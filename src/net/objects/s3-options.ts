/** Connection options of a bucket, for every component that uses one. */
import * as v from "valibot";
import { text } from "../../config/fields.ts";

export const s3Options = {
  endpoint: v.optional(v.pipe(text("an address"), v.description("A server other than Amazon's."))),
  region: v.optional(v.pipe(text("a region"), v.description("AWS_REGION where not given."))),
  "path-style": v.optional(
    v.pipe(
      v.picklist(["true", "false"], "true or false"),
      v.description("The bucket in the path instead of the name; so with an endpoint."),
    ),
  ),
};
