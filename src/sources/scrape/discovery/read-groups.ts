/** Target groups as files and HTTP answers carry them: a list of `{targets, labels}`. Strict: an unknown key is an error. */
import type { DiscoveredGroup, TargetLabels } from "./group.ts";

/** @throws Error with one sentence: what is wrong and in which group. */
export function readGroups(
  value: unknown,
  sourceOf: (index: number) => string,
  meta: TargetLabels,
): readonly DiscoveredGroup[] {
  if (!Array.isArray(value)) throw new Error("it holds no list of target groups");
  return value.map((item: unknown, index) => {
    if (typeof item !== "object" || item === null || Array.isArray(item))
      throw new Error(`group ${index} is no mapping of targets and labels`);
    for (const key of Object.keys(item))
      if (key !== "targets" && key !== "labels")
        throw new Error(`group ${index} has the unknown key "${key.slice(0, 100)}"`);
    const { targets = [], labels = {} } = item as { targets?: unknown; labels?: unknown };
    if (!Array.isArray(targets) || !targets.every((target) => typeof target === "string"))
      throw new Error(`group ${index}: "targets" must be a list of addresses`);
    return {
      source: sourceOf(index),
      targets: targets.map((address) => ({ __address__: address })),
      labels: { ...readLabels(labels, index), ...meta },
    };
  });
}

const labelName = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

function readLabels(labels: unknown, index: number): TargetLabels {
  if (labels === null) return {};
  if (typeof labels !== "object" || Array.isArray(labels))
    throw new Error(`group ${index}: "labels" must be a mapping`);
  for (const [name, value] of Object.entries(labels)) {
    if (!labelName.test(name))
      throw new Error(`group ${index}: "${name.slice(0, 100)}" is no valid label name`);
    if (typeof value !== "string")
      throw new Error(`group ${index}: the value of label "${name}" must be text`);
  }
  return labels as TargetLabels;
}
