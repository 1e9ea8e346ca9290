/** `stdout:`: prints frames as text on standard output. */
import * as v from "valibot";
import { defineSink } from "../../pipeline/sink.ts";

export const stdout = defineSink({
  name: "stdout",
  summary: "Prints each frame: JSON lines, or a Prometheus page with a time on every sample.",
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
    { url: "stdout:", description: "one JSON object a line and frame" },
    { url: "stdout:prometheus", description: "text format with timestamps" },
  ],
  create: async ({ format }, { stdout: stream }) => {
    const { StdoutSink } = await import("./sink.ts");
    return new StdoutSink(format, stream);
  },
});
