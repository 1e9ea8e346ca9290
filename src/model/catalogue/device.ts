/** Builders for entries about a GPU, and labels that several of their tables share. */
import { entry, type MetricEntryOptions } from "./define.ts";
import type { LabelSpec, MetricEntry } from "./entry.ts";

export const device = (name: string, draft: MetricEntryOptions): MetricEntry =>
  entry("device", name, draft);

/** A metric that is 1 for yes and 0 for no. */
export const yesNo = (name: string, draft: MetricEntryOptions): MetricEntry =>
  device(name, { plausible: [0, 1], resolution: 1, ...draft });

export const direction: LabelSpec = {
  name: "direction",
  help: "Direction as seen by the GPU.",
  values: ["receive", "transmit"],
};
export const errorType: LabelSpec = {
  name: "type",
  help: "Whether ECC could correct it; deferred is uncorrected and not yet used by a program.",
  values: ["corrected", "uncorrected", "deferred"],
};
export const link: LabelSpec = { name: "link", help: "Index of the link, from 0." };
