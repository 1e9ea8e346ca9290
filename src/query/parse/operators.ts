/**
 * Applies PromQL's operator precedence. The grammar attaches offset, @ and ranges to the whole operation before them (`a
 * or b offset 1m`), so the nodes are flattened in text order and reassembled here.
 */
import type { SyntaxNode } from "@lezer/common";
import type { BinaryOp, Expr, NumberLiteral, Span, VectorMatching } from "../ast.ts";
import { numberOf } from "./literal.ts";
import { matchingOf } from "./modifiers.ts";
import { children, childAt, type QueryTextReader } from "./reader.ts";

export type FlatExprItem =
  | { readonly what: "sign"; readonly sign: "+" | "-"; readonly start: number }
  | { readonly what: "operand"; readonly expr: Expr }
  | { readonly what: "suffix"; readonly node: SyntaxNode }
  | {
      readonly what: "operator";
      readonly op: BinaryOp;
      readonly bool: boolean;
      readonly matching: VectorMatching;
    };

const suffixes: ReadonlySet<string> = new Set([
  "OffsetExpr",
  "StepInvariantExpr",
  "AnchoredExpr",
  "SmoothedExpr",
  "MatrixSelector",
  "SubqueryExpr",
]);

const precedence: Readonly<Record<BinaryOp, number>> = {
  or: 1,
  and: 2,
  unless: 2,
  "==": 3,
  "!=": 3,
  ">": 3,
  "<": 3,
  ">=": 3,
  "<=": 3,
  "</": 3,
  ">/": 3,
  "+": 4,
  "-": 4,
  "*": 5,
  "/": 5,
  "%": 5,
  atan2: 5,
  "^": 7,
};

/** A sign has the precedence of multiplication: -a^b is -(a^b), -a*b is (-a)*b. */
const signPrecedence = 6;

export function hasOperators(node: SyntaxNode): boolean {
  return (
    suffixes.has(node.name) || /^(?:Binary|Unary)Expr$|^NumberDurationLiteral$/.test(node.name)
  );
}

type ReadExpr = (node: SyntaxNode) => Expr;
type Suffix = (expr: Expr, node: SyntaxNode) => Expr;

/** Operands, signs, suffixes and operators in text order. Holes are parsed elsewhere. */
export function itemsOf(
  reader: QueryTextReader,
  node: SyntaxNode,
  read: ReadExpr,
  isHole: (node: SyntaxNode) => boolean,
): FlatExprItem[] {
  const items: FlatExprItem[] = [];
  flatten(reader, node, items, read, isHole);
  return items;
}

export function assemble(items: readonly FlatExprItem[], suffix: Suffix): Expr {
  return new Assembler(suffix, items).expression(0);
}

function flatten(
  reader: QueryTextReader,
  node: SyntaxNode,
  items: FlatExprItem[],
  read: ReadExpr,
  isHole: (node: SyntaxNode) => boolean,
): void {
  if (node.name === "BinaryExpr") {
    const all = children(node);
    const [left, operator] = all;
    const right = all.at(-1);
    if (left === undefined || operator === undefined || right === undefined)
      throw new Error("BUG: binary");
    flatten(reader, left, items, read, isHole);
    const op = reader.text(operator).toLowerCase() as BinaryOp;
    items.push({ what: "operator", op, ...matchingOf(reader, all.slice(2, -1)) });
    flatten(reader, right, items, read, isHole);
  } else if (node.name === "UnaryExpr") {
    items.push({ what: "sign", sign: signOf(reader.text(node)), start: node.from });
    flatten(reader, childAt(node, 1), items, read, isHole);
  } else if (node.name === "NumberDurationLiteral" && !isHole(node)) {
    flattenNumber(reader, node, items);
  } else if (suffixes.has(node.name)) {
    flatten(reader, childAt(node, 0), items, read, isHole);
    items.push({ what: "suffix", node });
  } else {
    items.push({ what: "operand", expr: read(node) });
  }
}

function flattenNumber(reader: QueryTextReader, node: SyntaxNode, items: FlatExprItem[]): void {
  const text = reader.text(node);
  const literal = numberOf(reader, node);
  if (!/^[-+]/.test(text)) {
    items.push({ what: "operand", expr: literal });
    return;
  }
  const sign = signOf(text);
  items.push({ what: "sign", sign, start: node.from });
  const start = node.from + 1 + (/\S/.exec(text.slice(1))?.index ?? 0);
  const bare: NumberLiteral = { ...literal, value: sign === "-" ? -literal.value : literal.value };
  items.push({ what: "operand", expr: { ...bare, span: { start, end: node.to } } });
}

function signOf(text: string): "+" | "-" {
  return text.startsWith("-") ? "-" : "+";
}

class Assembler {
  private readonly suffix: Suffix;
  private readonly items: readonly FlatExprItem[];
  private at = 0;

  constructor(suffix: Suffix, items: readonly FlatExprItem[]) {
    this.suffix = suffix;
    this.items = items;
  }

  expression(least: number): Expr {
    let lhs = this.operand();
    for (;;) {
      const item = this.items[this.at];
      if (item?.what !== "operator" || precedence[item.op] < least) return lhs;
      this.at++;
      const level = precedence[item.op];
      const rhs = this.expression(item.op === "^" ? level : level + 1);
      const span = { start: lhs.span.start, end: rhs.span.end };
      lhs = {
        kind: "binary",
        op: item.op,
        lhs,
        rhs,
        bool: item.bool,
        matching: item.matching,
        span,
      };
    }
  }

  private operand(): Expr {
    const item = this.items[this.at++];
    if (item?.what === "sign") {
      const inner = this.expression(signPrecedence);
      return signed(item.sign, inner, { start: item.start, end: inner.span.end });
    }
    if (item?.what !== "operand") throw new Error("BUG: operand expected");
    let expr = item.expr;
    for (let next = this.items[this.at]; next?.what === "suffix"; next = this.items[++this.at]) {
      expr = this.suffix(expr, next.node);
    }
    return expr;
  }
}

/** A sign before a literal is part of the literal. */
function signed(op: "+" | "-", expr: Expr, span: Span): Expr {
  if (expr.kind === "number")
    return { ...expr, value: op === "-" ? -expr.value : expr.value, span };
  return { kind: "unary", op, expr, span };
}
