/**
 * Regular expressions of matchers: RE2's meaning, fully anchored, dot takes line breaks too, time linear in the text. What
 * people write most (a word, words between bars, a prefix) is answered without an engine.
 */
import { RE2JS } from "re2js";
import { StoreError } from "../error.ts";

export interface Pattern {
  test(text: string): boolean;
  /** The only texts it can match, where they are few and known. */
  readonly literals?: readonly string[];
}

const meta = /[\\.+*?()|[\]{}^$]/;

export function compilePattern(source: string): Pattern {
  return simplePattern(source) ?? enginePattern(source);
}

function simplePattern(source: string): Pattern | undefined {
  const whole = /^\(([^()]*)\)$/.exec(source)?.[1] ?? source;
  const words = whole.split("|");
  if (words.every((word) => !meta.test(word))) {
    const set = new Set(words);
    return { literals: [...set], test: (text) => set.has(text) };
  }
  if (source === ".*") return { test: () => true };
  if (source === ".+") return { test: (text) => text !== "" };
  const parts = /^(\.[*+])?(.*?)(\.[*+])?$/s.exec(source);
  const [head, middle, tail] = [parts?.[1], parts?.[2] ?? "", parts?.[3]];
  if (middle === "" || meta.test(middle) || (head === undefined && tail === undefined)) return;
  const least = middle.length + (head === ".+" ? 1 : 0) + (tail === ".+" ? 1 : 0);
  if (head === undefined)
    return { test: (text) => text.length >= least && text.startsWith(middle) };
  if (tail === undefined) return { test: (text) => text.length >= least && text.endsWith(middle) };
  const from = head === ".+" ? 1 : 0;
  const after = tail === ".+" ? 1 : 0;
  return {
    test: (text) => {
      const at = text.indexOf(middle, from);
      return at !== -1 && at + middle.length + after <= text.length;
    },
  };
}

function enginePattern(source: string): Pattern {
  try {
    const compiled = RE2JS.compile(source, RE2JS.DOTALL);
    return { test: (text) => compiled.matches(text) };
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    throw new StoreError("matcher", `The regular expression "${source}" is not valid: ${why}`, {
      cause: thrown,
    });
  }
}
