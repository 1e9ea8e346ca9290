/** The GPUs of the page, stored in the address: all, one host's, or one. */
import { matchersOf } from "../../../../src/view/first-load.ts";
import { Param, oneOf, text } from "../../view-state/param.ts";

/** `host:NAME`, `gpu:UUID@HOST` (or `gpu:UUID`), or empty for all. */
export const scope = new Param("scope", text, "push");
export const patternMetric = new Param(
  "pattern",
  oneOf(["utilization", "power", "temperature", "memory"]),
);

function gpuMatchers(id: string): string {
  const at = id.lastIndexOf("@");
  return at < 0
    ? `uuid=${JSON.stringify(id)}`
    : matchersOf({ uuid: id.slice(0, at), host: id.slice(at + 1) });
}

/** Returns a selector for the scope, with additional matchers. */
export function selectorOf(chosen: string, more = ""): string {
  const [, kind, name = ""] = /^(host|gpu):(.*)$/s.exec(chosen) ?? [];
  const own =
    kind === undefined ? "" : kind === "host" ? `host=${JSON.stringify(name)}` : gpuMatchers(name);
  return `{${[own, more].filter((part) => part !== "").join(",")}}`;
}
