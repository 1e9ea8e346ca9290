/** Label operations for queries: keep, drop, set, sign, print. Works on sorted label sets and returns sorted ones. */
import { type Label, type LabelSet, labelValue } from "../model/labels.ts";
import { quote } from "./quote.ts";

const plainName = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Drops the labels that describe the metric itself, for a value that no longer belongs to that metric. */
export function dropMetadata(labels: LabelSet): LabelSet {
  return labels.some(([name]) => isMetadata(name))
    ? labels.filter(([name]) => !isMetadata(name))
    : labels;
}

function isMetadata(name: string): boolean {
  return name === "__name__" || name === "__type__" || name === "__unit__";
}

export function keepOnly(labels: LabelSet, names: ReadonlySet<string>): LabelSet {
  return labels.filter(([name]) => names.has(name));
}

export function dropAll(labels: LabelSet, names: ReadonlySet<string>): LabelSet {
  return labels.filter(([name]) => !names.has(name));
}

/** Sets one label, or removes it if the value is empty. */
export function withLabel(labels: LabelSet, name: string, value: string): LabelSet {
  const rest = labels.filter(([key]) => key !== name);
  if (value === "") return rest;
  const at = rest.findIndex(([key]) => key > name);
  const label: Label = [name, value];
  return at < 0 ? [...rest, label] : [...rest.slice(0, at), label, ...rest.slice(at)];
}

export function metricName(labels: LabelSet): string {
  return labelValue(labels, "__name__") ?? "";
}

/** Returns a key function: two keys are equal if and only if the labels relevant for the matching or grouping are equal. */
export function signature(names: readonly string[], on: boolean): (labels: LabelSet) => string {
  const [only, ...more] = names;
  // Label values are never empty, and their texts, which series share, are hashed already.
  if (on && only === undefined) return () => "";
  if (on && only !== undefined && more.length === 0)
    return (labels) => labelValue(labels, only) ?? "";
  const set = new Set(names);
  if (!on) set.add("__name__");
  return (labels) => {
    let key = "";
    for (const [name, value] of labels) {
      if (set.has(name) === on) key += `${name}\uFFFE${value}\uFFFF`;
    }
    return key;
  };
}

/** For example `{__name__="up", job="a"}`. */
export function printLabels(labels: LabelSet): string {
  const parts = labels.map(
    ([name, value]) => `${plainName.test(name) ? name : quote(name)}=${quote(value)}`,
  );
  return `{${parts.join(", ")}}`;
}

export function compareLabels(a: LabelSet, b: LabelSet): number {
  const shared = Math.min(a.length, b.length);
  for (let index = 0; index < shared; index++) {
    const left = a[index];
    const right = b[index];
    if (left === undefined || right === undefined) break;
    if (left[0] !== right[0]) return left[0] < right[0] ? -1 : 1;
    if (left[1] !== right[1]) return left[1] < right[1] ? -1 : 1;
  }
  return a.length - b.length;
}
