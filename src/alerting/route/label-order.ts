/** Alertmanager's order of alerts and groups, and its notation of a label set. */
import { quoteText } from "../../formats/template/printf.ts";

type Labels = ReadonlyMap<string, string>;

/** Orders by job, by instance, then by all labels; a missing label sorts last. */
export function byLabels(left: { readonly labels: Labels }, right: { readonly labels: Labels }) {
  for (const name of ["job", "instance"]) {
    const [one, other] = [left.labels.get(name), right.labels.get(name)];
    if (one === other) continue;
    if (one === undefined) return 1;
    if (other === undefined) return -1;
    return one < other ? -1 : 1;
  }
  return labelOrder(left.labels, right.labels);
}

/** Fewer labels first; then by the first differing name: a missing label first, then by value. */
export function labelOrder(left: Labels, right: Labels): number {
  if (left.size !== right.size) return left.size - right.size;
  const names = [...new Set([...left.keys(), ...right.keys()])].sort(byText);
  for (const name of names) {
    const [one, other] = [left.get(name), right.get(name)];
    if (one === undefined) return -1;
    if (other === undefined) return 1;
    if (one !== other) return one < other ? -1 : 1;
  }
  return 0;
}

/** Formats a label set: `{alertname="Hot", gpu="0"}`. */
export function labelsText(labels: Labels): string {
  const names = [...labels.keys()].sort(byText);
  return `{${names.map((name) => `${name}=${quoteText(labels.get(name) ?? "")}`).join(", ")}}`;
}

const byText = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0);
