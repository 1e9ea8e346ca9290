/** Label matchers as predicates. Regular expressions are RE2's: linear time, fully anchored, dot matches newlines. */
import { RE2JS } from "re2js";
import { type LabelSet, labelValue } from "../model/labels.ts";
import { longestPattern } from "../storage/embedded/index/pattern.ts";
import type { Matcher } from "../model/select.ts";

/**
 * Cached, because patterns of rules and panels repeat with every evaluation, and compiling one takes longer than using
 * it.
 */
const compiled = new Map<string, RE2JS>();
const mostCompiled = 64;
const longestCached = 512;

/** Compiles a pattern for whole-string matches; throws if it is invalid. */
export function compileRegex(pattern: string): RE2JS {
  const found = compiled.get(pattern);
  if (found !== undefined) {
    // Moves the entry to the end, which makes the map an LRU cache.
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
    // Alternatives of plain words need no regex engine, however many there are.
    if (pattern.length > longestPattern && /[\\.+*?()[\]{}^$]/.test(pattern))
      return `a pattern of ${pattern.length} letters is longer than ${longestPattern}`;
    RE2JS.compile(pattern);
    // Compiles the pattern alone first: with an open `\Q`, the brackets for the whole-string match would become part of
    // it.
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

/** Returns a predicate for label sets that satisfy all matchers; a missing label equals an empty one. */
export function matchAll(matchers: readonly Matcher[]): (labels: LabelSet) => boolean {
  const tests = matchers.map((matcher) => ({ name: matcher.name, test: predicate(matcher) }));
  return (labels) => tests.every(({ name, test }) => test(labelValue(labels, name) ?? ""));
}
