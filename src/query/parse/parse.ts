/** Text in, checked tree out. The only door to the parser; it throws ParseError and nothing else. */
import { parser } from "@prometheus-io/lezer-promql";
import type { Expr } from "../ast.ts";
import type { Matcher } from "../../store/select.ts";
import { check } from "../check.ts";
import { ParseError } from "../errors.ts";
import { lex } from "./lex.ts";
import { plain } from "./plain.ts";
import { syntaxError } from "./syntax-error.ts";
import { TreeReader } from "./tree.ts";

/** Beyond this the recursion over the tree would risk the stack. */
const maxQueryLength = 1_000_000;
const maxDepth = 500;

export function parse(query: string): Expr {
  if (query.length > maxQueryLength) {
    const problem = `query is longer than ${maxQueryLength} characters`;
    throw new ParseError(query.slice(0, 100), { start: 0, end: 0 }, problem);
  }
  const { tokens, problem } = lex(query);
  const tree = parser.parse(plain(query, tokens));
  let errorAt = -1;
  let depth = 0;
  let deepest = 0;
  tree.iterate({
    enter(node) {
      depth++;
      if (depth > deepest) deepest = depth;
      if (node.type.isError && errorAt < 0) errorAt = node.from;
    },
    leave() {
      depth--;
    },
  });
  if (problem !== undefined) {
    const last = tokens.at(-1);
    throw errorAt >= 0 && last !== undefined && errorAt < last.end
      ? syntaxError(query, tokens, errorAt)
      : problem;
  }
  if (errorAt >= 0 || tokens.length === 0) throw syntaxError(query, tokens, errorAt);
  if (deepest > maxDepth) {
    throw new ParseError(
      query,
      { start: 0, end: 0 },
      `expression is nested deeper than ${maxDepth}`,
    );
  }
  const top = tree.topNode.firstChild;
  if (top === null) throw syntaxError(query, tokens, 0);
  const expr = new TreeReader(query).expr(top);
  check(query, expr);
  return expr;
}

/** The matchers of one series selector, as `match[]` takes it. */
export function parseSelector(query: string): readonly Matcher[] {
  const expr = parse(query);
  if (expr.kind === "vector") return expr.matchers;
  throw new ParseError(query, { start: 0, end: query.length }, "expected a series selector");
}
