/** docs/reference/sources-and-sinks.md, from their declarations. */
import type { ComponentDefinition } from "../../src/config/component.ts";
import { kernelLogTargets } from "../../src/sinks/kernel-log/define.ts";
import { sinks } from "../../src/sinks/list.ts";
import { sources } from "../../src/sources/list.ts";
import { generatedNote, table } from "./markdown.ts";
import { describeSchema } from "./schema.ts";

export function componentsPage(): string {
  return [
    "# Sources and sinks",
    "",
    generatedNote,
    "",
    "Each is named by a URL: its name, a colon, its main option, and the others as a query (`sim:8?seed=7`). In gpulse.yaml the same options stand",
    "in a mapping (`sim: { gpus: 8, seed: 7 }`).",
    "",
    "## Sources",
    ...sources.flatMap(section),
    "",
    "## Sinks",
    ...sinks.flatMap(section),
    "",
    "## Kernel log",
    "",
    "Where `gpulse agent --kernel-log URL` sends the kernel's lines about GPUs: see [kernel log](../guides/kernel-log.md).",
    ...kernelLogTargets.flatMap(section),
    "",
  ].join("\n");
}

function section(definition: ComponentDefinition): string[] {
  const rows = describeSchema(definition.options).map(({ path, takes, fallback, description }) => [
    `\`${path}\`${path === definition.mainOption ? " (after the colon)" : ""}`,
    takes,
    fallback,
    description,
  ]);
  const examples = definition.examples.map(({ url, description: says }) => `- \`${url}\`: ${says}`);
  return [
    "",
    `### \`${definition.name}:\``,
    "",
    definition.summary,
    "",
    table(["Option", "Takes", "Default", "Meaning"], rows),
    "",
    ...examples,
  ];
}
