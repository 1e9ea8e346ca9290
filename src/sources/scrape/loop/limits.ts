/** Limits that fail a whole scrape, with Prometheus's words for it. Pure. */
import { type LabelSet, labelValue } from "../../../model/labels.ts";
import type { ScrapeLimits } from "../config/types.ts";

/** What the page is refused for; nothing of it is kept. */
export class ScrapeRejectedError extends Error {}

const short = (text: string): string => text.slice(0, 50);

/** @throws ScrapeRejectedError where a series has too many labels, or too long ones. */
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
