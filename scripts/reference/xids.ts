/** docs/reference/xids.md, from the catalogue of Xids. */
import { actionWords } from "../../src/view/health/verdict.ts";
import { xidEntries, type XidEntry, xidSources } from "../../src/view/health/xids.ts";
import { generatedNote, table } from "./markdown.ts";

export function xidsPage(): string {
  const rows = xidEntries.map((entry) => [
    entry.xids.join(", "),
    entry.name,
    entry.meaning,
    entry.nvidiaAction === undefined ? "none given" : `\`${entry.nvidiaAction}\``,
    entry.state === "healthy" ? "note" : entry.state,
    actionWords[entry.action],
    [`[${entry.source}](${xidSources[entry.source].url})`, ...rules(entry)].join("; "),
  ]);
  return [
    "# Xid errors",
    "",
    generatedNote,
    "",
    "What the [verdict](../guides/health.md) makes of each of NVIDIA's error numbers. *NVIDIA's action* is the immediate action of its catalogue; state and",
    "action are ours. A *note* is an error of the application or information: the GPU stays healthy. A number that is not in the table makes a GPU *degraded*.",
    "",
    table(["Xid", "Name", "Meaning", "NVIDIA's action", "State", "Action", "Source"], rows),
    "",
  ].join("\n");
}

function rules({ followsApplication, endedBy, isFollowUp }: XidEntry): string[] {
  return [
    ...(followsApplication === true
      ? ["the GPU's (degraded, reset) once several users have it"]
      : []),
    ...(endedBy === undefined ? [] : [`ended by a later ${endedBy}`]),
    ...(isFollowUp === true ? ["ignored beside another Xid"] : []),
  ];
}
