/** The source `intel:`: every GPU of the drivers i915 and xe, read from /sys and the open files of programs. */
import * as v from "valibot";
import { flag } from "../../config/fields.ts";
import { hostFileAccess } from "../../machine/sysfs/file-access.ts";
import { defineSource } from "../source.ts";

export const intel = defineSource({
  name: "intel",
  summary:
    "Intel GPUs, integrated and Arc, through the files of i915 and xe; utilization and memory need root.",
  options: v.strictObject({
    processes: v.pipe(
      v.optional(flag(), false),
      v.description("Also report memory and utilization of each GPU's 20 largest processes."),
    ),
  }),
  examples: [
    { url: "intel:", description: "every Intel GPU of this machine" },
    { url: "intel:?processes=true", description: "with the largest processes of each GPU" },
  ],
  auto: true,
  doctor: async (_options, context) => {
    const { examine } = await import("./doctor.ts");
    return examine(context.sysfs, context.procfs, context.fileAccess ?? hostFileAccess);
  },
  create: async (options, context) => {
    const { openIntel } = await import("./machine.ts");
    return openIntel(options, context, context.fileAccess ?? hostFileAccess);
  },
});
