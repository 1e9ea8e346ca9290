/** docs/reference/compatibility.md, from the tables that define the series. */
import { otelLeftOut, otelRows } from "../../src/formats/compat/otel.ts";
import type { CompatRow, CompatTable, SourceMetric } from "../../src/formats/compat/row.ts";
import { compatNames, compatTables } from "../../src/formats/compat/tables.ts";
import { generatedNote, table } from "./markdown.ts";

export function compatibilityPage(): string {
  const parts = [
    "# Compatibility names",
    "",
    generatedNote,
    "",
    "What `--compat NAME` puts on the page beside our own metrics, and which of them it comes from. How to use it, and what differs:",
    "[the guide](../guides/compatibility.md).",
  ];
  for (const name of compatNames) parts.push(...tableOf(compatTables[name]));
  parts.push(
    "",
    "## OpenTelemetry `hw.*`",
    "",
    "Not a `--compat` name: the naming an OTLP sink follows.",
    "",
    table(
      ["Metric", "Instrument", "Unit", "From", "Attributes"],
      otelRows.map((row) => [
        `\`${row.name}\``,
        row.instrument,
        `\`${row.unit}\``,
        formatMapping(row),
        Object.entries(row.attributes ?? {})
          .map(([key, value]) => `\`${key}=${value}\``)
          .join(", "),
      ]),
    ),
    "",
    ...leftOut(otelLeftOut),
    "",
  );
  return parts.join("\n");
}

function tableOf({ name, exporter, vendor, rows, leftOut: missing }: CompatTable): string[] {
  return [
    "",
    `## \`${name}\`: ${exporter}`,
    "",
    `For ${vendor === "amd" ? "AMD" : "NVIDIA"} GPUs.`,
    "",
    table(
      ["Metric", "Type", "Unit", "From", "Note"],
      rows.map((row) => [
        `\`${row.name}\`${extraLabels(row)}`,
        row.kind,
        row.unit,
        origin(row),
        row.note ?? "",
      ]),
    ),
    ...(missing.length === 0 ? [] : ["", ...leftOut(missing)]),
  ];
}

function leftOut(missing: readonly (readonly [string, string])[]): string[] {
  return [
    "Left out:",
    "",
    table(
      ["What", "Why"],
      missing.map(([names, why]) => [names.replaceAll(/\b\w*_[\w*]+/g, "`$&`"), why]),
    ),
  ];
}

function extraLabels({ copy, labels }: CompatRow): string {
  const fixed = labels === undefined ? [] : clockLabels(labels);
  const all = [...Object.keys(copy ?? {}), ...fixed];
  return all.length === 0 ? "" : ` {${all.join(", ")}}`;
}

/** Labels that do not depend on the GPU are shown with their value; the metric's own documentation describes the others. */
function clockLabels(labels: NonNullable<CompatRow["labels"]>): string[] {
  const about = {
    device: { uuid: "", index: 0, vendor: "amd", model: "", simulated: false },
    host: "",
    owner: {},
    gpus: 0,
    labelOf: () => undefined,
  } as const;
  return Object.entries(labels(about)).map(([name, value]) =>
    value === undefined || value === "" || name === "index" ? name : `${name}="${value}"`,
  );
}

function origin(row: CompatRow): string {
  const fold = row.fold === undefined ? "" : `${row.fold.says} of `;
  const others = (row.otherwise ?? []).map((from) => `, else ${formatMapping(from)}`).join("");
  const second = row.second === undefined ? "" : `, ${row.second.says}`;
  const none =
    row.whenNone === undefined
      ? ""
      : `, ${row.whenNone.value} where there is none and \`${row.whenNone.given.name}\` is 1`;
  return `${fold}${formatMapping(row)}${others}${second}${none}`;
}

function formatMapping({ from, match = {} }: SourceMetric): string {
  const labels = Object.entries(match).map(
    ([name, value]) => `${name}="${typeof value === "string" ? value : value.join("|")}"`,
  );
  return `\`${from.name}${labels.length === 0 ? "" : `{${labels.join(",")}}`}\``;
}
