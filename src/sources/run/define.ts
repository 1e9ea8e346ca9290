/** The source `run:FILE.gpulserun`: replays the readings of a benchmark run. */
import * as v from "valibot";
import { text } from "../../config/fields.ts";
import { GpulseError } from "../../base/error.ts";
import { defineSource } from "../source.ts";

export const run = defineSource({
  name: "run",
  summary: "The readings of a .gpulserun file, with their original timestamps.",
  mainOption: "file",
  options: v.strictObject({
    file: v.optional(
      v.pipe(
        text("the path of a run"),
        v.description("File recorded by gpulse run or gpulse stress."),
      ),
    ),
  }),
  examples: [{ url: "run:gpulse-runs/a.gpulserun", description: "every reading of a run" }],
  auto: false,
  doctor: async ({ file }) => {
    if (file === undefined) return { state: "not-found", says: "No run file given." };
    try {
      const { readRun } = await import("./source.ts");
      const { devices } = await readRun(file);
      return {
        state: "found",
        says: `${file} is complete and has readings of ${devices.length} GPUs.`,
        devices,
      };
    } catch (thrown) {
      if (!(thrown instanceof GpulseError)) throw thrown;
      return { state: "failed", says: thrown.message };
    }
  },
  create: async ({ file }) => {
    if (file === undefined)
      throw new GpulseError("SOURCE_OPTIONS", "run: needs a file, such as run:a.gpulserun.");
    const { RunSource, readRun } = await import("./source.ts");
    return new RunSource(await readRun(file));
  },
});
