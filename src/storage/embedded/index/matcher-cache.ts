/** Compiled matchers: the result for a label value is computed once and cached by the value's number. */
import type { Matcher } from "../../../model/select.ts";
import { compilePattern } from "./pattern.ts";
import type { Symbols } from "./symbols.ts";

/** Cached expressions, with their results. */
const keep = 256;
/** Cached results per expression. */
const keepAnswers = 1_000_000;

export interface ReadyMatcher {
  readonly name: string;
  /** True if a series without the label matches: in Prometheus's model an empty label is no label. */
  readonly matchesEmpty: boolean;
  /** The only values it can match, if they are known. */
  readonly literals?: readonly string[];
  matches(valueId: number): boolean;
}

export class MatcherCache {
  readonly #symbols: Symbols;
  readonly #ready = new Map<string, ReadyMatcher>();

  constructor(symbols: Symbols) {
    this.#symbols = symbols;
  }

  ready(matcher: Matcher): ReadyMatcher {
    const key = `${matcher.op}${matcher.name}\u0000${matcher.value}`;
    const known = this.#ready.get(key);
    if (known !== undefined) {
      this.#ready.delete(key);
      this.#ready.set(key, known);
      return known;
    }
    const made = this.#make(matcher);
    if (this.#ready.size >= keep) {
      const oldest = this.#ready.keys().next();
      if (oldest.done !== true) this.#ready.delete(oldest.value);
    }
    this.#ready.set(key, made);
    return made;
  }

  #make({ name, op, value }: Matcher): ReadyMatcher {
    const negative = op === "!=" || op === "!~";
    const pattern =
      op === "=~" || op === "!~"
        ? compilePattern(value)
        : { literals: [value], test: (text: string) => text === value };
    const answers = new Map<number, boolean>();
    const symbols = this.#symbols;
    return {
      name,
      matchesEmpty: pattern.test("") !== negative,
      ...(pattern.literals === undefined || negative ? {} : { literals: pattern.literals }),
      matches(valueId) {
        const known = answers.get(valueId);
        if (known !== undefined) return known;
        const answer = pattern.test(symbols.text(valueId)) !== negative;
        if (answers.size >= keepAnswers) answers.clear();
        answers.set(valueId, answer);
        return answer;
      },
    };
  }
}
