/** Vector selectors: a name, matchers, or both, plain or in quotes. */
import type { SyntaxNode } from "@lezer/common";
import type { VectorSelector } from "../ast.ts";
import type { Matcher } from "../../model/select.ts";
import { regexProblem } from "../matcher.ts";
import { unquote } from "../quote.ts";
import { children, spanOf, type QueryTextReader } from "./reader.ts";

export function selectorOf(reader: QueryTextReader, node: SyntaxNode): VectorSelector {
  const identifier = node.getChild("Identifier");
  const braces = node.getChild("LabelMatchers");
  const name = identifier === null ? "" : reader.text(identifier);
  const matchers: Matcher[] = [];
  for (const entry of braces === null ? [] : children(braces)) {
    if (entry.name === "QuotedLabelName") {
      matchers.push({ name: "__name__", op: "=", value: unquote(reader.text(entry)) });
    } else {
      matchers.push(matcherOf(reader, entry));
    }
  }
  if (name !== "") matchers.push({ name: "__name__", op: "=", value: name });
  return {
    kind: "vector",
    name,
    matchers,
    offsetMs: 0,
    anchored: false,
    smoothed: false,
    mayBeEmpty: false,
    span: spanOf(node),
  };
}

function matcherOf(reader: QueryTextReader, node: SyntaxNode): Matcher {
  const [label, op, value] = children(node);
  if (label === undefined || op === undefined || value === undefined)
    throw new Error("BUG: matcher");
  const text = reader.text(label);
  const matcher: Matcher = {
    name: label.name === "QuotedLabelName" ? unquote(text) : text,
    op: reader.text(op) as Matcher["op"],
    value: unquote(reader.text(value)),
  };
  if (matcher.op === "=~" || matcher.op === "!~") {
    const problem = regexProblem(matcher.value);
    if (problem !== undefined) reader.fail(spanOf(node), problem);
  }
  return matcher;
}
