/** Converts the grammar's syntax tree to the AST. Rejects what the grammar accepts but PromQL does not. */
import type { SyntaxNode } from "@lezer/common";
import { type AggregateOp, aggregatesWithParam, type Expr, type VectorSelector } from "../ast.ts";
import { quote, unquote } from "../quote.ts";
import { signatures } from "../signatures.ts";
import { durationOf, nonZeroMs, secondsToMs } from "./duration.ts";
import { addOffset, setAt, setEdge, setExtended } from "./modifiers.ts";
import { numberOf } from "./literal.ts";
import { assemble, hasOperators, itemsOf, type FlatExprItem } from "./operators.ts";
import { childAt, children, QueryTextReader, spanOf } from "./reader.ts";
import type { Matcher } from "../../model/select.ts";
import { regexProblem } from "../matcher.ts";

export class TreeReader extends QueryTextReader {
  private readonly hole: (node: SyntaxNode) => Expr | undefined;

  /** @param hole returns the expression that a number in the tree stands for, if it does */
  constructor(query: string, hole: (node: SyntaxNode) => Expr | undefined) {
    super(query);
    this.hole = hole;
  }

  items(node: SyntaxNode): FlatExprItem[] {
    const filled = new Map<number, Expr>();
    const isHole = (at: SyntaxNode): boolean => {
      const expr = this.hole(at);
      if (expr !== undefined) filled.set(at.from, expr);
      return expr !== undefined;
    };
    return itemsOf(this, node, (inner) => filled.get(inner.from) ?? this.expr(inner), isHole);
  }

  expr(node: SyntaxNode): Expr {
    const span = spanOf(node);
    if (hasOperators(node)) return assemble(this.items(node), (expr, at) => this.suffix(expr, at));
    switch (node.name) {
      case "StringLiteral":
        return { kind: "string", value: unquote(this.text(node)), span };
      case "VectorSelector":
        return selectorOf(this, node);
      case "ParenExpr":
        return { kind: "paren", expr: this.expr(childAt(node, 0)), span };
      case "FunctionCall":
        return this.call(node);
      case "AggregateExpr":
        return this.aggregate(node);
      default:
        return this.fail(span, `unexpected ${quote(this.text(node))}`);
    }
  }

  /** Applies a suffix of an operand: the node's first child is that operand, wherever the grammar put it. */
  suffix(expr: Expr, node: SyntaxNode): Expr {
    switch (node.name) {
      case "MatrixSelector":
        return this.matrix(expr, node);
      case "SubqueryExpr":
        return this.subquery(expr, node);
      case "OffsetExpr":
        return addOffset(this, expr, childAt(node, 2), node.to);
      case "StepInvariantExpr": {
        const at = childAt(node, 2);
        if (at.name !== "AtModifierPreprocessors")
          return setAt(this, expr, numberOf(this, at), node.to);
        return setEdge(this, expr, /^start/i.test(this.text(at)) ? "start" : "end", node.to);
      }
      default:
        return setExtended(this, expr, node.name === "AnchoredExpr" ? "anchored" : "smoothed");
    }
  }

  private call(node: SyntaxNode): Expr {
    const body = childAt(node, 1);
    const name = /^[\w:]+/.exec(this.query.slice(node.from, body.from))?.[0] ?? "";
    const args = this.body(body);
    if (!signatures.has(name)) {
      const span = { start: node.from, end: node.from + name.length };
      this.fail(span, `unknown function with name ${quote(name)}`);
    }
    return { kind: "call", name, args, span: spanOf(node) };
  }

  private body(node: SyntaxNode): Expr[] {
    return children(node).map((child) => this.expr(child));
  }

  private aggregate(node: SyntaxNode): Expr {
    const op = this.text(childAt(node, 0)).toLowerCase() as AggregateOp;
    const span = spanOf(node);
    const bodyNode = node.getChild("FunctionCallBody");
    const modifier = node.getChild("AggregateModifier");
    const args = bodyNode === null ? [] : this.body(bodyNode);
    if (args.length === 0) this.fail(span, "no arguments for aggregate expression provided");
    const wanted = aggregatesWithParam.has(op) ? 2 : 1;
    if (args.length !== wanted) {
      const problem = "wrong number of arguments for aggregate expression provided, expected";
      this.fail(span, `${problem} ${wanted}, got ${args.length}`);
    }
    const labels = modifier?.getChild("GroupingLabels");
    const expr = args[wanted - 1];
    if (expr === undefined) throw new Error("BUG: aggregate without expression");
    return {
      kind: "aggregate",
      op,
      expr,
      param: wanted === 2 ? args[0] : undefined,
      grouping: labels ? this.labels(labels) : [],
      without: modifier !== null && modifier.getChild("Without") !== null,
      span,
    };
  }

  private matrix(selector: Expr, node: SyntaxNode): Expr {
    const duration = nonZeroMs(this, durationOf(this, childAt(node, 1)));
    const bracket = { start: this.query.indexOf("[", selector.span.end), end: node.to };
    if (selector.kind !== "vector") this.fail(bracket, "ranges only allowed for vector selectors");
    if (selector.offsetMs !== 0) this.fail(bracket, "no offset modifiers allowed before range");
    if (selector.atMs !== undefined) this.fail(bracket, "no @ modifiers allowed before range");
    const [rangeMs, rangeExpr] = secondsToMs(duration);
    const span = { start: selector.span.start, end: node.to };
    return { kind: "matrix", selector, rangeMs, rangeExpr, span };
  }

  private subquery(expr: Expr, node: SyntaxNode): Expr {
    const [, range, step] = children(node);
    if (range === undefined) throw new Error("BUG: subquery without range");
    const [rangeMs, rangeExpr] = secondsToMs(nonZeroMs(this, durationOf(this, range)));
    const [stepMs, stepExpr] =
      step === undefined ? [0, undefined] : secondsToMs(nonZeroMs(this, durationOf(this, step)));
    const span = { start: expr.span.start, end: node.to };
    return { kind: "subquery", expr, rangeMs, rangeExpr, stepMs, stepExpr, offsetMs: 0, span };
  }
}

/** Vector selectors: a name, matchers, or both; the name may be quoted. */
function selectorOf(reader: QueryTextReader, node: SyntaxNode): VectorSelector {
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
