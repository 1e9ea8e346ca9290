/**
 * Regular expressions of matchers with RE2 semantics: fully anchored, dot matches line breaks, linear time. The most
 * common forms (a word, alternatives of words, a prefix) are matched without a regex engine.
 */
import { RE2JS } from "re2js";
import { StoreError } from "../error.ts";

export interface CompiledPattern {
  test(text: string): boolean;
  /** The only texts it can match, if they are few and known. */
  readonly literals?: readonly string[];
}

/** Length limit for the regex engine; alternatives of plain words may be longer. */
export const longestPattern = 65_536;
/** Limit for pattern size times text length: about two seconds. */
const mostSteps = 20_000_000;
/** Time limit for one matcher, which blocks the thread. Its results are cached, so a repeated query continues from there. */
const mostMs = 5_000;
/** A longer pause between two tests starts a new time limit. */
const pauseMs = 1_000;

export const isTooCostly = (pattern: RE2JS, text: string): boolean =>
  pattern.programSize() * text.length > mostSteps;

const meta = /[\\.+*?()|[\]{}^$]/;

export function compilePattern(source: string, nowMs = () => performance.now()): CompiledPattern {
  return simplePattern(source) ?? enginePattern(source, nowMs);
}

function simplePattern(source: string): CompiledPattern | undefined {
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

function enginePattern(source: string, nowMs: () => number): CompiledPattern {
  if (source.length > longestPattern)
    throw new StoreError(
      "matcher",
      `A regular expression of ${source.length} letters is longer than ${longestPattern}: ask for fewer values, or for words between bars alone.`,
    );
  const compiled = compile(source);
  let [spentMs, lastMs] = [0, 0];
  return {
    test: (text) => {
      const beganMs = nowMs();
      if (beganMs - lastMs > pauseMs) spentMs = 0;
      if (spentMs > mostMs || isTooCostly(compiled, text)) {
        spentMs = 0;
        throw new StoreError(
          "matcher",
          `The regular expression "${source.slice(0, 200)}" takes too long on the values that are here: write it shorter, or narrow the series with another label.`,
        );
      }
      const matches = compiled.matches(text);
      lastMs = nowMs();
      spentMs += lastMs - beganMs;
      return matches;
    },
  };
}

function compile(source: string): RE2JS {
  try {
    return RE2JS.compile(source, RE2JS.DOTALL);
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    throw new StoreError("matcher", `The regular expression "${source}" is not valid: ${why}`, {
      cause: thrown,
    });
  }
}
