/** Computes the labels of a scraped series: merges the page's and the target's labels, then applies relabeling. Pure. */
import { type LabelSet, labelSet, labelValue } from "../../../model/labels.ts";
import { relabel } from "../../../formats/relabel/relabel.ts";
import type { ScrapeConfig, ScrapeLimits } from "../config/types.ts";

type Rules = Pick<ScrapeConfig, "honorLabels" | "metricRelabelRules">;

/** Undefined if a rule drops the series. @param emptied labels with an empty value on the page */
export function sampleLabels(
  exposed: LabelSet,
  emptied: readonly string[],
  target: LabelSet,
  { honorLabels, metricRelabelRules }: Rules,
): LabelSet | undefined {
  const merged = honorLabels
    ? honoured(
        exposed,
        target.filter(([name]) => !emptied.includes(name)),
      )
    : exported(exposed, target);
  return metricRelabelRules.length === 0 ? merged : relabel(merged, metricRelabelRules);
}

/** The page's labels win, including empty ones. */
const honoured = (exposed: LabelSet, target: LabelSet): LabelSet =>
  labelSet(Object.fromEntries([...target, ...exposed]));

/** The target's labels win; a conflicting label of the page is renamed to `exported_…`, with as many prefixes as needed to be unique. */
function exported(exposed: LabelSet, target: LabelSet): LabelSet {
  const labels = new Map(exposed);
  const conflicts: (readonly [string, string])[] = [];
  for (const [name, value] of target) {
    const before = labels.get(name) ?? "";
    if (before !== "") conflicts.push([name, before]);
    labels.set(name, value);
  }
  // Short names first, so that the page's `exported_x` finds the name that its `x` was renamed to.
  for (const [name, value] of conflicts.sort(([left], [right]) => left.length - right.length)) {
    let free = name;
    do free = `exported_${free}`;
    while ((labels.get(free) ?? "") !== "");
    labels.set(free, value);
  }
  return labelSet(Object.fromEntries(labels));
}

/* Limits that fail a whole scrape, with Prometheus's messages. Pure. */

/** A limit that rejects the whole page. */
export class ScrapeRejectedError extends Error {}

const short = (text: string): string => text.slice(0, 50);

/** @throws ScrapeRejectedError if a series has too many or too long labels */
export function checkLabels(labels: LabelSet, limits: ScrapeLimits): void {
  const metric = labelValue(labels, "__name__");
  if (metric === undefined)
    throw new ScrapeRejectedError(
      "metric name is missing after relabelling: keep the label __name__",
    );
  if (limits.labels > 0 && labels.length > limits.labels)
    throw new ScrapeRejectedError(
      `label_limit exceeded (metric: ${short(metric)}, number of labels: ${labels.length}, limit: ${limits.labels})`,
    );
  if (limits.labelNameBytes === 0 && limits.labelValueBytes === 0) return;
  for (const [name, value] of labels) {
    const nameBytes = Buffer.byteLength(name);
    const valueBytes = Buffer.byteLength(value);
    if (limits.labelNameBytes > 0 && nameBytes > limits.labelNameBytes)
      throw new ScrapeRejectedError(
        `label_name_length_limit exceeded (metric: ${short(metric)}, label name: ${short(name)}, length: ${nameBytes}, limit: ${limits.labelNameBytes})`,
      );
    if (limits.labelValueBytes > 0 && valueBytes > limits.labelValueBytes)
      throw new ScrapeRejectedError(
        `label_value_length_limit exceeded (metric: ${short(metric)}, label name: ${short(name)}, value: ${JSON.stringify(short(value))}, length: ${valueBytes}, limit: ${limits.labelValueBytes})`,
      );
  }
}
