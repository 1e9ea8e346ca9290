/** What `amd:` can be asked for. */
import * as v from "valibot";
import { flag } from "../../config/fields.ts";

export const amdOptions = v.strictObject({
  processes: v.pipe(
    v.optional(flag(), false),
    v.description("Also give memory and utilization of each GPU's 20 largest processes."),
  ),
  pcie: v.pipe(
    v.optional(flag(), false),
    v.description("Also read PCIe traffic, which keeps one thread busy for a second a card."),
  ),
  tools: v.pipe(
    v.optional(v.picklist(["auto", "never"], "auto or never"), "auto"),
    v.description("Whether amd-smi and rocm-smi may be asked for what /sys does not tell."),
  ),
});

export type AmdOptions = v.InferOutput<typeof amdOptions>;
