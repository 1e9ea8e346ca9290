/** The source `csv:FILE`: samples in the format of `gpulse query --csv`. */
import { existsSync } from "node:fs";
import * as v from "valibot";
import { text } from "../../config/fields.ts";
import { GpulseError } from "../../base/error.ts";
import { defineSource } from "../source.ts";

export const csv = defineSource({
  name: "csv",
  summary:
    "A CSV of samples as printed by gpulse query --csv: one frame per timestamp, in time order.",
  mainOption: "file",
  options: v.strictObject({
    file: v.optional(v.pipe(text("the path of a CSV"), v.description("The file."))),
  }),
  examples: [{ url: "csv:power.csv", description: "the result of a query" }],
  auto: false,
  doctor: async ({ file }) => {
    if (file === undefined) return { state: "not-found", says: "No file given. Write csv:FILE." };
    return existsSync(file)
      ? { state: "found", says: `${file} exists.` }
      : { state: "not-found", says: `There is no file ${file}.` };
  },
  create: async ({ file }, { reject }) => {
    if (file === undefined)
      throw new GpulseError("SOURCE_OPTIONS", "csv: needs the path of a file: write csv:FILE.");
    const { CsvSource } = await import("./source.ts");
    return new CsvSource({ file, ...(reject !== undefined && { reject }) });
  },
});
