/** The labels under which a series of a frame is kept or sent. */
import type { LabelSet } from "../../model/labels.ts";
import type { Series } from "../../model/layout.ts";

/** With its name, sorted; what the series says itself wins over what is added. */
export function storedLabels({ metric, suffix, labels }: Series, extra: LabelSet): LabelSet {
  const all = new Map<string, string>(extra.filter(([, value]) => value !== ""));
  for (const [name, value] of labels) all.set(name, value);
  all.set("__name__", `${metric.name}${suffix}`);
  return [...all].sort(([a], [b]) => (a < b ? -1 : 1));
}
