/** docs/reference/metrics.md, from the catalogue. */
import {
  catalogue,
  identityLabels,
  type MetricEntry,
  type VendorSource,
} from "../../src/model/catalogue/index.ts";
import { vendorTitles } from "../../src/model/vendor.ts";
import { generatedNote, table } from "./markdown.ts";

const sections: readonly (readonly [MetricEntry["subject"], string, string])[] = [
  ["device", "GPUs", "One series per GPU, with the labels `uuid`, `gpu` (its index) and `host`."],
  [
    "host",
    "The machine",
    "From the `host:` source, and where a GPU-Z log reports on it; with the label `host`.",
  ],
  ["workload", "Machine-learning work", "One series per host, with the label `host`."],
  ["self", "gpulse itself", "About the running program and its sources and sinks."],
];

const sourceTitles: Record<VendorSource, string> = {
  ...vendorTitles,
  gpuz: "GPU-Z",
  sim: "simulator",
};

export function metricsPage(): string {
  const parts = [
    "# Metrics",
    "",
    generatedNote,
    "",
    "Every metric gpulse knows, from its one catalogue. A reading that is not there is left out of the page and counted, with its reason, in",
    "`gpulse_source_readings{state}`: it is never 0 and never the last value. What is marked with a call or file of a vendor says how that",
    "vendor gives it; sources that are not built yet are named too, since the catalogue is written for them.",
    "",
    "**Tier** is how often a metric is read: *fast* with every interval, *slow* at most every 5 s, *static* every minute.",
    "**Step** is the resolution readings are rounded to.",
  ];
  for (const [subject, title, about] of sections) {
    const entries = catalogue.filter((metric) => metric.subject === subject);
    if (entries.length === 0) continue;
    parts.push("", `## ${title}`, "", about, "");
    parts.push(table(["Metric", "Kind", "Unit", "Tier", "Step", "Meaning"], entries.map(row)));
    parts.push(
      "",
      "### Labels",
      "",
      table(["Metric", "Label", "Values", "Meaning"], entries.flatMap(labelRows)),
    );
    const given = entries.filter((metric) => Object.keys(metric.given).length > 0);
    if (subject === "device")
      parts.push(
        "",
        "### Where it comes from",
        "",
        table(["Metric", ...Object.values(sourceTitles)], given.map(givenRow)),
      );
  }
  const identity = Object.entries(identityLabels).map(
    ([subject, labels]) => `${subject}: ${labels.join(", ") || "none"}`,
  );
  parts.push(
    "",
    "## Identity labels",
    "",
    `By subject: ${identity.join("; ")}.`,
    "`job` and `instance` are added by the collector.",
    "",
  );
  return parts.join("\n");
}

const row = (metric: MetricEntry): string[] => [
  `\`${metric.name}\``,
  metric.kind,
  metric.unit,
  metric.subject === "self" ? "at scrape" : metric.tier,
  String(metric.resolution),
  metric.help,
];

const labelRows = (metric: MetricEntry): string[][] =>
  metric.labels.map((label) => [
    `\`${metric.name}\``,
    `\`${label.name}\``,
    label.values?.map((value) => `\`${value}\``).join(", ") ?? "any",
    label.help,
  ]);

const givenRow = (metric: MetricEntry): string[] => [
  `\`${metric.name}\``,
  ...(Object.keys(sourceTitles) as VendorSource[]).map((vendor) => metric.given[vendor] ?? "–"),
];
