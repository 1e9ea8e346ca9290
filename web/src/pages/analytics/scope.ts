/** Which GPUs the page is about, kept in the address: all, one host's, or one. */
import { Param, oneOf, text } from "../../view-state/param.ts";

/** `host:NAME`, `gpu:UUID`, or empty for all. */
export const scope = new Param("scope", text, "push");
export const patternMetric = new Param(
  "pattern",
  oneOf(["utilization", "power", "temperature", "memory"]),
);

/** The inside of a selector, with what else it must match. */
export function selectorOf(chosen: string, more = ""): string {
  const [, kind, name = ""] = /^(host|gpu):(.*)$/s.exec(chosen) ?? [];
  const quoted = JSON.stringify(name);
  const own = kind === undefined ? "" : `${kind === "gpu" ? "uuid" : "host"}=${quoted}`;
  return `{${[own, more].filter((part) => part !== "").join(",")}}`;
}
