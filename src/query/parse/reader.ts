/** Access to the query's text by node, and errors with a position in it. */
import type { SyntaxNode } from "@lezer/common";
import type { Span } from "../ast.ts";
import { ParseError } from "../errors.ts";
import { isLabelName, quote, unquote } from "../quote.ts";

export class QueryTextReader {
  readonly query: string;

  constructor(query: string) {
    this.query = query;
  }

  text(node: SyntaxNode): string {
    return this.query.slice(node.from, node.to);
  }

  fail(span: Span, problem: string): never {
    throw new ParseError(this.query, span, problem);
  }

  labels(node: SyntaxNode): string[] {
    return children(node).map((label) => {
      const text = this.text(label);
      const name = label.name === "QuotedLabelName" ? unquote(text) : text;
      if (!isLabelName(name)) {
        this.fail(spanOf(label), `invalid label name for grouping: ${quote(name)}`);
      }
      return name;
    });
  }
}

export function children(node: SyntaxNode): SyntaxNode[] {
  const all: SyntaxNode[] = [];
  for (let child = node.firstChild; child !== null; child = child.nextSibling) {
    if (child.name !== "LineComment") all.push(child);
  }
  return all;
}

export function childAt(node: SyntaxNode, index: number): SyntaxNode {
  const child = children(node)[index];
  if (child === undefined) throw new Error(`BUG: ${node.name} has no child ${index}`);
  return child;
}

export function spanOf(node: SyntaxNode): Span {
  return { start: node.from, end: node.to };
}
