/** Names series by the labels that distinguish them, without labels that all of them share. Pure. */
import type { Labels } from "./columns.ts";

/** The most important labels come first. */
const order = ["__name__", "host", "gpu", "sensor", "uuid"];
/** A uuid is redundant beside host and index. */
const implied: readonly (readonly [string, readonly string[]])[] = [
  ["uuid", ["host", "gpu"]],
  ["instance", ["host"]],
];

/** The names of the labels that differ among these series, in display order. */
export function differingLabelNames(all: readonly Labels[]): readonly string[] {
  const names = [...new Set(all.flatMap((labels) => Object.keys(labels)))].filter(
    (name) => all.length === 1 || new Set(all.map((labels) => labels[name] ?? "")).size > 1,
  );
  const needed = names.filter((name) => {
    const by = implied.find(([one]) => one === name)?.[1];
    return (
      by === undefined ||
      !by.some((one) => names.includes(one)) ||
      !areDistinguished(all, names, name)
    );
  });
  return needed.sort((one, other) => rank(one) - rank(other) || (one < other ? -1 : 1));
}

/** True if the other labels already distinguish all series. */
function areDistinguished(
  all: readonly Labels[],
  names: readonly string[],
  without: string,
): boolean {
  const rest = names.filter((name) => name !== without);
  return (
    new Set(all.map((labels) => rest.map((name) => labels[name] ?? "").join("\n"))).size ===
    all.length
  );
}

const rank = (name: string): number => {
  const at = order.indexOf(name);
  return at === -1 ? order.length : at;
};

export function labelText(labels: Labels, names: readonly string[]): string {
  const metric = names.includes("__name__") ? (labels["__name__"] ?? "") : "";
  const parts = names
    .filter((name) => name !== "__name__" && labels[name] !== undefined)
    .map((name) => `${name}="${labels[name] ?? ""}"`);
  const text = parts.length === 0 ? metric : `${metric}{${parts.join(", ")}}`;
  return text === "" ? (labels["__name__"] ?? "value") : text;
}
