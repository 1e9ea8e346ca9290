/** Label sets: immutable, sorted by name, empty values left out (in Prometheus's model an empty label is no label). */

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

/** Both together; where both name a label the second wins. */
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

/** One string that is equal exactly when the sets are: the separators cannot occur in valid UTF-8 text. */
export function labelKey(labels: LabelSet): string {
  let key = "";
  for (const [name, value] of labels) key += `${name}\uFFFE${value}\uFFFF`;
  return key;
}
