/**
 * The expression language of tag rules and columns: numbers, columns, + - * /, comparisons, and, or, not, parentheses.
 *
 * or    = and ("or" and)*          compare = sum (("<" | "<=" | ">" | ">=" | "==" | "!=") sum)?
 * and   = not ("and" not)*         sum     = product (("+" | "-") product)*
 * not   = "not" not | compare      product = sign (("*" | "/") sign)*      sign = "-" sign | atom
 *
 * Arithmetic with an absent value yields an absent value; a comparison with one is false.
 */
import { didYouMean } from "../../config/closest.ts";
import { aliases, findColumn } from "../../model/aliases.ts";
import { columns } from "../../model/columns.ts";
import { expressionError, type ExpressionToken, tokenize } from "./tokens.ts";

/** Returns a column's value for one GPU and timestamp; undefined if it is absent. */
export type ColumnReader = (column: string) => number | undefined;

export interface Condition {
  readonly kind: "condition";
  readonly columns: readonly string[];
  readonly holds: (read: ColumnReader) => boolean;
}
export interface NumericExpression {
  readonly kind: "quantity";
  readonly columns: readonly string[];
  readonly value: (read: ColumnReader) => number | undefined;
}
export type Expression = Condition | NumericExpression;

const keywords = new Set(["and", "or", "not"]);
const maxDepth = 50;

const compare: Readonly<Record<string, (left: number, right: number) => boolean>> = {
  ">": (left, right) => left > right,
  ">=": (left, right) => left >= right,
  "<": (left, right) => left < right,
  "<=": (left, right) => left <= right,
  "==": (left, right) => left === right,
  "!=": (left, right) => left !== right,
};
const reckon: Readonly<Record<string, (left: number, right: number) => number>> = {
  "+": (left, right) => left + right,
  "-": (left, right) => left - right,
  "*": (left, right) => left * right,
  "/": (left, right) => left / right,
};

/** @param more names in addition to the lake's columns and aliases, such as user-defined columns */
export function parseExpression(text: string, more: ReadonlySet<string> = new Set()): Expression {
  return new Parser(text, more).whole();
}

export function parseCondition(text: string, more?: ReadonlySet<string>): Condition {
  const parsed = parseExpression(text, more);
  if (parsed.kind === "condition") return parsed;
  throw expressionError(text, 0, 'This is a number, where a condition such as "> 90" is needed');
}

export function parseQuantity(text: string, more?: ReadonlySet<string>): NumericExpression {
  const parsed = parseExpression(text, more);
  if (parsed.kind === "quantity") return parsed;
  throw expressionError(text, 0, "This is a condition, where a number is needed");
}

class Parser {
  readonly #text: string;
  readonly #more: ReadonlySet<string>;
  readonly #tokens: readonly ExpressionToken[];
  #at = 0;
  #depth = 0;

  constructor(text: string, more: ReadonlySet<string>) {
    this.#text = text;
    this.#more = more;
    this.#tokens = tokenize(text);
  }

  whole(): Expression {
    const parsed = this.#or();
    if (this.#now.kind !== "end") throw this.#unexpected();
    return parsed;
  }

  get #now(): ExpressionToken {
    return this.#tokens[this.#at] ?? { kind: "end", text: "", at: this.#text.length };
  }

  #take(text: string): boolean {
    if (this.#now.kind === "end" || this.#now.text.toLowerCase() !== text) return false;
    this.#at++;
    return true;
  }

  #or(): Expression {
    return this.#joined(
      "or",
      () => this.#and(),
      (parts, read) => parts.some((part) => part.holds(read)),
    );
  }

  #and(): Expression {
    return this.#joined(
      "and",
      () => this.#not(),
      (parts, read) => parts.every((part) => part.holds(read)),
    );
  }

  #joined(
    keyword: string,
    next: () => Expression,
    holds: (parts: readonly Condition[], read: ColumnReader) => boolean,
  ): Expression {
    const at = this.#now.at;
    const first = next();
    if (this.#now.text.toLowerCase() !== keyword) return first;
    const parts = [this.#condition(first, at)];
    while (this.#take(keyword)) {
      const from = this.#now.at;
      parts.push(this.#condition(next(), from));
    }
    return { kind: "condition", columns: named(parts), holds: (read) => holds(parts, read) };
  }

  #not(): Expression {
    if (!this.#take("not")) return this.#comparison();
    this.#deeper();
    const inner = this.#condition(this.#not(), this.#now.at);
    this.#depth--;
    return { ...inner, holds: (read) => !inner.holds(read) };
  }

  #comparison(): Expression {
    const at = this.#now.at;
    const left = this.#sum();
    const sign = this.#now;
    const test = sign.kind === "sign" ? compare[sign.text] : undefined;
    if (test === undefined) return left;
    this.#at++;
    const from = this.#now.at;
    const [one, other] = [this.#quantity(left, at), this.#quantity(this.#sum(), from)];
    if (compare[this.#now.text] !== undefined)
      throw this.#wrong('Two comparisons in a row: write "a < b and b < c"');
    return {
      kind: "condition",
      columns: named([one, other]),
      holds: (read) => {
        const [first, second] = [one.value(read), other.value(read)];
        return first !== undefined && second !== undefined && test(first, second);
      },
    };
  }

  #sum(): Expression {
    return this.#reckoned(["+", "-"], () => this.#reckoned(["*", "/"], () => this.#signed()));
  }

  #reckoned(signs: readonly string[], next: () => Expression): Expression {
    const at = this.#now.at;
    let left = next();
    for (
      let sign = this.#now;
      sign.kind === "sign" && signs.includes(sign.text);
      sign = this.#now
    ) {
      this.#at++;
      const from = this.#now.at;
      const [one, other] = [this.#quantity(left, at), this.#quantity(next(), from)];
      const work = reckon[sign.text];
      left = {
        kind: "quantity",
        columns: named([one, other]),
        value: (read) => {
          const [first, second] = [one.value(read), other.value(read)];
          if (first === undefined || second === undefined) return undefined;
          const result = work?.(first, second);
          // A division by zero yields an absent value.
          return Number.isFinite(result) ? result : undefined;
        },
      };
    }
    return left;
  }

  #signed(): Expression {
    if (!this.#take("-")) return this.#atom();
    this.#deeper();
    const inner = this.#quantity(this.#signed(), this.#now.at);
    this.#depth--;
    return {
      ...inner,
      value: (read) => {
        const value = inner.value(read);
        return value === undefined ? undefined : -value;
      },
    };
  }

  #atom(): Expression {
    const token = this.#now;
    if (this.#take("(")) {
      this.#deeper();
      const inner = this.#or();
      this.#depth--;
      if (!this.#take(")")) throw this.#wrong(`A ")" is missing here`);
      return inner;
    }
    if (token.kind === "number") {
      this.#at++;
      const value = Number(token.text);
      return { kind: "quantity", columns: [], value: () => value };
    }
    if (token.kind === "name" && !keywords.has(token.text.toLowerCase())) {
      this.#at++;
      return this.#column(token);
    }
    throw this.#unexpected();
  }

  #column({ text, at }: ExpressionToken): NumericExpression {
    if (this.#more.has(text))
      return { kind: "quantity", columns: [text], value: (read) => read(text) };
    const found = findColumn(text);
    if (found === undefined) {
      const known = [...this.#more, ...[...aliases, ...columns].map(({ name }) => name)];
      const hint = didYouMean(text, known) || " docs/reference/metrics.md lists the names.";
      throw expressionError(this.#text, at, `There is no column "${text}".${hint}`);
    }
    const { column, scale } = found;
    return {
      kind: "quantity",
      columns: [column],
      value: (read) => {
        const value = read(column);
        return value === undefined ? undefined : value * scale;
      },
    };
  }

  #condition(given: Expression, at: number): Condition {
    if (given.kind === "condition") return given;
    throw expressionError(
      this.#text,
      at,
      'This is a number: compare it with something, such as "> 90"',
    );
  }

  #quantity(given: Expression, at: number): NumericExpression {
    if (given.kind === "quantity") return given;
    throw expressionError(
      this.#text,
      at,
      "This is a condition: it cannot be reckoned or compared with",
    );
  }

  #deeper(): void {
    if (++this.#depth > maxDepth) throw this.#wrong("This is nested too deep");
  }

  #unexpected(): Error {
    const { kind, text } = this.#now;
    return this.#wrong(
      kind === "end" ? "The expression ends too early" : `"${text}" is not expected here`,
    );
  }

  #wrong(problem: string): Error {
    return expressionError(this.#text, this.#now.at, problem);
  }
}

const named = (parts: readonly Expression[]): readonly string[] => [
  ...new Set(parts.flatMap(({ columns: names }) => names)),
];
