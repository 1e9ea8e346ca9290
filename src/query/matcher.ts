/** Label matchers as predicates. Regular expressions are RE2's: linear time, fully anchored, dot matches newlines. */
import { RE2JS } from "re2js";
import { type LabelSet, labelValue } from "../model/labels.ts";
import { longestPattern } from "../storage/embedded/index/pattern.ts";
import type { Matcher } from "../model/select.ts";

/** Patterns of rules and panels come again with every evaluation, and compiling one takes longer than using it. */
const compiled = new Map<string, RE2JS>();
const mostCompiled = 64;
const longestCached = 512;

/** Compiled for whole-string matches; throws where it cannot be. */
export function compileRegex(pattern: string): RE2JS {
  const found = compiled.get(pattern);
  if (found !== undefined) {
    // The one that was used last goes last.
    compiled.delete(pattern);
    compiled.set(pattern, found);
    return found;
  }
  const regex = RE2JS.compile(`^(?s:${pattern})$`);
  if (pattern.length > longestCached) return regex;
  compiled.set(pattern, regex);
  const [oldest] = compiled.keys();
  if (compiled.size > mostCompiled && oldest !== undefined) compiled.delete(oldest);
  return regex;
}

export function regexProblem(pattern: string): string | undefined {
  try {
    // Words between bars need no engine, however many they are.
    if (pattern.length > longestPattern && /[\\.+*?()[\]{}^$]/.test(pattern))
      return `a pattern of ${pattern.length} letters is longer than ${longestPattern}`;
    RE2JS.compile(pattern);
    // `\Q` is one alone, and takes in the brackets that make it match the whole.
    compileRegex(pattern);
    return undefined;
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown);
  }
}

export function predicate(matcher: Matcher): (value: string) => boolean {
  const { op, value: wanted } = matcher;
  if (op === "=") return (value) => value === wanted;
  if (op === "!=") return (value) => value !== wanted;
  const regex = compileRegex(wanted);
  return op === "=~" ? (value) => regex.matches(value) : (value) => !regex.matches(value);
}

/** Whether a label set satisfies all matchers; a missing label is an empty one. */
export function matchAll(matchers: readonly Matcher[]): (labels: LabelSet) => boolean {
  const tests = matchers.map((matcher) => ({ name: matcher.name, test: predicate(matcher) }));
  return (labels) => tests.every(({ name, test }) => test(labelValue(labels, name) ?? ""));
}
