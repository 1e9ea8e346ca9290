/** Parses a query to a checked AST. The only entry point of the parser; it throws only ParseError. */
import type { Expr } from "../ast.ts";
import type { Matcher } from "../../model/select.ts";
import { check } from "../check.ts";
import { ParseError } from "../errors.ts";
import { lex, type QueryToken } from "./lex.ts";
import { refuseDeep, refuseLong } from "./limits.ts";
import { PiecewiseParser } from "./pieces.ts";
import { syntaxError } from "./syntax-error.ts";

export function parse(query: string): Expr {
  refuseLong(query);
  const { tokens, problem } = lex(query);
  refuseDeep(query, tokens);
  if (problem !== undefined) throw firstOf(query, tokens, problem);
  if (tokens.length === 0) throw syntaxError(query, tokens, 0);
  const expr = new PiecewiseParser(query, tokens).parse({ from: 0, to: tokens.length });
  check(query, expr);
  return expr;
}

/** An error before the invalid token is reported first. */
function firstOf(query: string, tokens: readonly QueryToken[], problem: ParseError): ParseError {
  const last = tokens.at(-1);
  try {
    if (last !== undefined)
      new PiecewiseParser(query, tokens).parse({ from: 0, to: tokens.length });
  } catch (thrown) {
    if (thrown instanceof ParseError && last !== undefined && thrown.span.start < last.end)
      return thrown;
  }
  return problem;
}

/** Parses the matchers of one series selector, as in `match[]`. */
export function parseSelector(query: string): readonly Matcher[] {
  const expr = parse(query);
  if (expr.kind === "vector") return expr.matchers;
  throw new ParseError(query, { start: 0, end: query.length }, "expected a series selector");
}
