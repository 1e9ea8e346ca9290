/** The GPUs of the page, stored in the address: all, one host's, or one. */
import { Param, oneOf, text } from "../../view-state/param.ts";

/** `host:NAME`, `gpu:UUID@HOST` (or `gpu:UUID`), or empty for all. */
export const scope = new Param("scope", text, "push");
export const patternMetric = new Param(
  "pattern",
  oneOf(["utilization", "power", "temperature", "memory"]),
);
