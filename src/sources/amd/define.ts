/** The source `amd:`: every card of the amdgpu driver, read from /sys without root or ROCm. */
import * as v from "valibot";
import { flag } from "../../config/fields.ts";
import { hostFileAccess } from "../../machine/sysfs/file-access.ts";
import { defineSource } from "../source.ts";

const amdOptions = v.strictObject({
  processes: v.pipe(
    v.optional(flag(), false),
    v.description("Also report memory and utilization of each GPU's 20 largest processes."),
  ),
  pcie: v.pipe(
    v.optional(flag(), false),
    v.description("Also read PCIe traffic, which blocks a thread for one second per card."),
  ),
  tools: v.pipe(
    v.optional(v.picklist(["auto", "never"], "auto or never"), "auto"),
    v.description("Whether to run amd-smi and rocm-smi for readings that /sys lacks."),
  ),
});

export type AmdOptions = v.InferOutput<typeof amdOptions>;

export const amd = defineSource({
  name: "amd",
  summary:
    "AMD GPUs and APUs through the amdgpu driver's files under /sys; needs neither root nor ROCm.",
  options: amdOptions,
  examples: [
    { url: "amd:", description: "every AMD GPU of this machine" },
    { url: "amd:?processes=true", description: "with the largest processes of each GPU" },
    { url: "amd:?pcie=true", description: "with PCIe traffic, which takes a second per read" },
  ],
  auto: true,
  captureCommands: [
    ["amd-smi", "metric", "--json"],
    ["amd-smi", "static", "--json"],
    ["rocm-smi", "-a", "--json"],
  ],
  doctor: async (_options, context) => {
    const { examine } = await import("./doctor.ts");
    return examine(context.sysfs, context.fileAccess ?? hostFileAccess);
  },
  create: async (options, context) => {
    const { openAmd } = await import("./source.ts");
    return openAmd(options, context, context.fileAccess ?? hostFileAccess);
  },
});
