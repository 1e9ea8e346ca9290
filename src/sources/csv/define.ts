/** The source `csv:FILE`: samples in the format of `gpulse query --csv`. */
import { existsSync } from "node:fs";
import * as v from "valibot";
import { text } from "../../config/fields.ts";
import { GpulseError } from "../../base/error.ts";
import { defineSource } from "../source.ts";

export const csv = defineSource({
  name: "csv",
  summary:
    "A CSV of samples, as gpulse query --csv prints it: a frame an instant, in the order of time.",
  mainOption: "file",
  options: v.strictObject({
    file: v.optional(v.pipe(text("the path of a CSV"), v.description("The file."))),
  }),
  examples: [{ url: "csv:power.csv", description: "what a query gave" }],
  auto: false,
  doctor: async ({ file }) => {
    if (file === undefined) return { state: "not-found", says: "No file named. Write csv:FILE." };
    return existsSync(file)
      ? { state: "found", says: `${file} is there.` }
      : { state: "not-found", says: `There is no file ${file}.` };
  },
  create: async ({ file }, { reject }) => {
    if (file === undefined)
      throw new GpulseError("SOURCE_OPTIONS", "csv: needs the path of a file: write csv:FILE.");
    const { CsvSource } = await import("./source.ts");
    return new CsvSource({ file, ...(reject !== undefined && { reject }) });
  },
});
