/** `stdout:`: prints frames as text on standard output. */
import * as v from "valibot";
import { defineSink } from "../../pipeline/sink.ts";

export const stdout = defineSink({
  name: "stdout",
  summary: "Prints each frame: JSON lines, or Prometheus text with timestamps.",
  mainOption: "format",
  options: v.strictObject({
    format: v.optional(
      v.pipe(
        v.picklist(["json", "prometheus"], "json or prometheus"),
        v.description("json: a line of JSON per frame. prometheus: a text page per frame."),
      ),
      "json",
    ),
  }),
  examples: [
    { url: "stdout:", description: "one JSON line per frame" },
    { url: "stdout:prometheus", description: "text format with timestamps" },
  ],
  create: async ({ format }, { stdout: stream }) => {
    const { StdoutSink } = await import("./sink.ts");
    return new StdoutSink(format, stream);
  },
});
