/** Rejects queries whose AST would be too deep for the stack, before it is built. */
import { ParseError } from "../errors.ts";
import type { QueryToken } from "./lex.ts";

const maxLength = 200_000;
/** An operator counts one, a parenthesis two. */
const maxDepth = 1000;

const nests: ReadonlySet<string> = new Set(
  "+ - * / % ^ == != <= >= < > </ >/ [ @ and or unless atan2 offset anchored smoothed".split(" "),
);

export function refuseLong(query: string): void {
  if (query.length <= maxLength) return;
  const problem = `query is longer than ${maxLength} characters`;
  throw new ParseError("", undefined, problem);
}

/** Consecutive operators, signs and modifiers nest like parentheses. */
export function refuseDeep(query: string, tokens: readonly QueryToken[]): void {
  const rows = [0];
  let depth = 0;
  const close = (): void => {
    depth -= rows.pop() ?? 0;
  };
  for (const token of tokens) {
    if (token.kind === "string") continue;
    if (token.text === "(") {
      rows.push(0);
      depth += 2;
    } else if (token.text === ")") {
      close();
      depth -= 2;
    } else if (token.text === ",") {
      close();
      rows.push(0);
    } else if (nests.has(token.text.toLowerCase())) {
      rows[rows.length - 1] = (rows.at(-1) ?? 0) + 1;
      depth++;
    }
    if (depth <= maxDepth) continue;
    const problem = `expression is nested deeper than ${maxDepth}; operators in a row nest, too`;
    throw new ParseError(query, token, problem);
  }
}
