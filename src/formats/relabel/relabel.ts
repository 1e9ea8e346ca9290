/** Relabeling as in Prometheus: each rule changes the label set or drops it. */
import { type Label, type LabelSet, labelValue } from "../../model/labels.ts";
import { createHash } from "node:crypto";
import { isLabelName, type RelabelRule, expand } from "./rule.ts";

/*
 * Upper and lower case as in Go: letter by letter, each to exactly one letter. JavaScript's own functions convert `ß` to `SS` and
 * treat a final sigma differently.
 */

/** Greek letters with iota subscript have one upper-case letter, for which JavaScript returns two. */
const spelledOut: readonly (readonly [first: number, last: number, shift: number])[] = [
  [0x1f80, 0x1f87, 8],
  [0x1f90, 0x1f97, 8],
  [0x1fa0, 0x1fa7, 8],
  [0x1fb3, 0x1fb3, 9],
  [0x1fc3, 0x1fc3, 9],
  [0x1ff3, 0x1ff3, 9],
];

function upperCase(text: string): string {
  return isAscii(text) ? text.toUpperCase() : Array.from(text, upperLetter).join("");
}

function lowerCase(text: string): string {
  return isAscii(text) ? text.toLowerCase() : Array.from(text, lowerLetter).join("");
}

function upperLetter(letter: string): string {
  const upper = letter.toUpperCase();
  if (upper.length <= letter.length) return upper;
  const code = letter.codePointAt(0) ?? 0;
  for (const [first, last, shift] of spelledOut)
    if (code >= first && code <= last) return String.fromCodePoint(code + shift);
  return letter;
}

const lowerLetter = (letter: string): string => (letter === "İ" ? "i" : letter.toLowerCase());

const isAscii = (text: string): boolean => !/[^ -~]/.test(text);

/*
 * A label set while rules change it. Iterates over the original labels first and then the new ones in the order they were set, as
 * Prometheus does: if two labels are mapped to one name, the later one wins.
 */

class LabelBuilder {
  readonly #base: LabelSet;
  readonly #set = new Map<string, string>();
  readonly #deleted = new Set<string>();

  constructor(base: LabelSet) {
    this.#base = base;
  }

  /** Empty if there is no such label. */
  get(name: string): string {
    const set = this.#set.get(name);
    if (set !== undefined) return set;
    return this.#deleted.has(name) ? "" : (labelValue(this.#base, name) ?? "");
  }

  set(name: string, value: string): void {
    if (value === "") this.delete(name);
    else this.#set.set(name, value);
  }

  delete(name: string): void {
    this.#set.delete(name);
    this.#deleted.add(name);
  }

  /** Returns a copy, so that changes during iteration have no effect on it. */
  pairs(): Label[] {
    const kept = this.#base.filter(([name]) => !this.#set.has(name) && !this.#deleted.has(name));
    return [...kept, ...this.#set];
  }

  /** Sorted, without empty values. */
  labels(): LabelSet {
    if (this.#set.size === 0 && this.#deleted.size === 0) return this.#base;
    return this.pairs().sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0));
  }
}

/** The labels after all rules (sorted, none empty), or undefined if a rule dropped them. */
export function relabel(labels: LabelSet, rules: readonly RelabelRule[]): LabelSet | undefined {
  if (rules.length === 0) return labels;
  const draft = new LabelBuilder(labels);
  for (const rule of rules) if (!apply(rule, draft)) return undefined;
  return draft.labels();
}

/** Returns false if the rule drops the labels. */
function apply(rule: RelabelRule, draft: LabelBuilder): boolean {
  const { regex, targetLabel } = rule;
  switch (rule.action) {
    case "keep":
      return regex.matches(joined(rule, draft));
    case "drop":
      return !regex.matches(joined(rule, draft));
    case "keepequal":
      return draft.get(targetLabel) === joined(rule, draft);
    case "dropequal":
      return draft.get(targetLabel) !== joined(rule, draft);
    case "replace":
      replace(rule, joined(rule, draft), draft);
      return true;
    case "lowercase":
      draft.set(targetLabel, lowerCase(joined(rule, draft)));
      return true;
    case "uppercase":
      draft.set(targetLabel, upperCase(joined(rule, draft)));
      return true;
    case "hashmod":
      draft.set(targetLabel, String(hashOf(joined(rule, draft)) % BigInt(rule.modulus)));
      return true;
    case "labelmap":
      for (const [name, value] of draft.pairs()) mapName(rule, name, value, draft);
      return true;
    case "labeldrop":
      for (const [name] of draft.pairs()) if (regex.matches(name)) draft.delete(name);
      return true;
    case "labelkeep":
      for (const [name] of draft.pairs()) if (!regex.matches(name)) draft.delete(name);
      return true;
  }
}

function joined({ sourceLabels, separator }: RelabelRule, draft: LabelBuilder): string {
  const [only] = sourceLabels;
  if (only !== undefined && sourceLabels.length === 1) return draft.get(only);
  return sourceLabels.map((name) => draft.get(name)).join(separator);
}

function replace(rule: RelabelRule, text: string, draft: LabelBuilder): void {
  // With the defaults, the rule copies a label without any matching.
  if (rule.pattern === "(.*)" && rule.replacement === "$1" && rule.target.isPlain) {
    draft.set(rule.targetLabel, text);
    return;
  }
  const matched = rule.regex.matcher(text);
  if (!matched.matches()) return;
  const target = rule.target.isPlain ? rule.targetLabel : expand(rule.target, matched);
  if (isLabelName(target)) draft.set(target, expand(rule.filled, matched));
}

function mapName(
  { regex, filled }: RelabelRule,
  name: string,
  value: string,
  draft: LabelBuilder,
): void {
  const matched = regex.matcher(name);
  if (!matched.matches()) return;
  const target = expand(filled, matched);
  if (target !== "") draft.set(target, value);
}

/** The last eight bytes of the MD5, as in Prometheus. */
const hashOf = (text: string): bigint => createHash("md5").update(text).digest().readBigUInt64BE(8);
