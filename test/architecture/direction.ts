// The rule of the tree: folders are duties in the order data flows, and imports only point backwards along it.

import { importsOf, resolveImport } from "./source-tree.ts";

export const FLOW = [
  "errors",
  "log",
  "config",
  "model",
  "http",
  "mqtt",
  "files",
  "kafka",
  "state",
  "relabel",
  "template",
  "formats",
  "lake",
  "sysfs",
  "owners",
  "system",
  "sources",
  "scrape",
  "pipeline",
  "sinks",
  "kernel-log",
  "store",
  "query",
  "history",
  "access",
  "events",
  "alert",
  "notify",
  "analytics",
  "runs",
  "command",
  "agent",
  "hub",
  "top",
  "cli",
  "lambda",
] as const;

/** Folders whose sub-folders are independent things that must not know each other. */
const SIBLINGS = new Set(["sources", "sinks", "notify"]);
const IO_MODULE = /^node:(?!util$|assert$)/;

function duty(file: string): string {
  return (file.split("/")[1] ?? "").replace(/\.ts$/, "");
}

function sibling(file: string): string | undefined {
  const parts = file.split("/");
  return SIBLINGS.has(duty(file)) && parts.length > 3 ? parts[2] : undefined;
}

/** Every import of a file under src/ that the rule forbids, each as one sentence. */
export function violations(file: string, text: string): string[] {
  const isTest = file.endsWith(".test.ts");
  const place = FLOW.indexOf(duty(file) as (typeof FLOW)[number]);
  if (place === -1) return [`${file} is in no folder of the flow; name its folder in FLOW`];
  return importsOf(text).flatMap((imported) => {
    if (duty(file) === "model" && !isTest && IO_MODULE.test(imported)) {
      return [`${file} imports ${imported}, and the model does no I/O`];
    }
    const target = resolveImport(file, imported);
    if (target === undefined) return [];
    // Tests may use what starts real programs; code may not leave src at all.
    if (!target.startsWith("src/")) return isTest ? [] : [`${file} imports ${target}, outside src`];
    const targetPlace = FLOW.indexOf(duty(target) as (typeof FLOW)[number]);
    if (targetPlace > place || targetPlace === -1) {
      return [`${file} imports ${target}, which comes later in the flow`];
    }
    if (duty(file) === "model" && !["model", "errors"].includes(duty(target))) {
      return [`${file} imports ${target}, and the model stands on errors alone`];
    }
    const [own, other] = [sibling(file), sibling(target)];
    if (duty(file) === duty(target) && own !== undefined && other !== undefined && own !== other) {
      return [`${file} imports ${target}: what they share belongs beside both`];
    }
    return [];
  });
}
