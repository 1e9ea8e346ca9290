/** Label sets: immutable, sorted by name, without empty values (in Prometheus's model an empty label is no label). */

export type Label = readonly [name: string, value: string];
export type LabelSet = readonly Label[];

export const noLabels: LabelSet = [];

export function labelSet(labels: Readonly<Record<string, string | undefined>>): LabelSet {
  const pairs: Label[] = [];
  for (const name of Object.keys(labels).sort()) {
    const value = labels[name];
    if (value !== undefined && value !== "") pairs.push([name, value]);
  }
  return pairs;
}

/** Merges both; for a label in both, `extra` wins. */
export function withLabels(
  base: LabelSet,
  extra: Readonly<Record<string, string | undefined>>,
): LabelSet {
  return labelSet({ ...Object.fromEntries(base), ...extra });
}

export function labelValue(labels: LabelSet, name: string): string | undefined {
  for (const [key, value] of labels) if (key === name) return value;
  return undefined;
}

/** Returns one string per label set. Unambiguous, because the separators cannot occur in valid UTF-8 text. */
export function labelKey(labels: LabelSet): string {
  let key = "";
  for (const [name, value] of labels) key += `${name}\uFFFE${value}\uFFFF`;
  return key;
}
