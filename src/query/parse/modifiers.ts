/** The modifiers of a selector or subquery: offset, @, anchored and smoothed. They modify the node in place. */
import type { SyntaxNode } from "@lezer/common";
import type { Expr, NumberLiteral, TimeShift, VectorMatching } from "../ast.ts";
import { printFloat } from "../number.ts";
import { durationOf, secondsToMs } from "./duration.ts";
import { type QueryTextReader, children } from "./reader.ts";
import { numberOf } from "./literal.ts";

const takers = "an instant vector selector or range vector selector or a subquery";

function shiftOf(reader: QueryTextReader, expr: Expr, what: string): TimeShift {
  if (expr.kind === "vector" || expr.kind === "subquery") return expr;
  if (expr.kind === "matrix") return expr.selector;
  return reader.fail(expr.span, `${what} modifier must be preceded by ${takers}`);
}

export function addOffset(
  reader: QueryTextReader,
  expr: Expr,
  node: SyntaxNode,
  end: number,
): Expr {
  const duration = durationOf(reader, node);
  const shift = shiftOf(reader, expr, "offset");
  if (shift.offsetMs !== 0 || shift.offsetExpr !== undefined) {
    reader.fail(expr.span, "offset may not be set multiple times");
  }
  [shift.offsetMs, shift.offsetExpr] = secondsToMs(duration);
  expr.span.end = end;
  return expr;
}

export function setAt(reader: QueryTextReader, expr: Expr, at: NumberLiteral, end: number): Expr {
  if (!Number.isFinite(at.value) || Math.abs(at.value) >= 2 ** 63) {
    const text = Number.isFinite(at.value) ? at.value.toFixed(6) : printFloat(at.value);
    reader.fail(expr.span, `timestamp out of bounds for @ modifier: ${text}`);
  }
  const shift = freeShift(reader, expr);
  // Go rounds halves away from zero.
  shift.atMs = Math.sign(at.value) * Math.round(Math.abs(at.value) * 1000);
  expr.span.end = end;
  return expr;
}

export function setEdge(
  reader: QueryTextReader,
  expr: Expr,
  edge: "start" | "end",
  end: number,
): Expr {
  freeShift(reader, expr).atEdge = edge;
  expr.span.end = end;
  return expr;
}

function freeShift(reader: QueryTextReader, expr: Expr): TimeShift {
  const shift = shiftOf(reader, expr, "@");
  if (shift.atMs !== undefined || shift.atEdge !== undefined) {
    reader.fail(expr.span, "@ <timestamp> may not be set multiple times");
  }
  return shift;
}

export function setExtended(
  reader: QueryTextReader,
  expr: Expr,
  which: "anchored" | "smoothed",
): Expr {
  if (expr.kind === "subquery")
    reader.fail(expr.span, `${which} modifier is not supported for subqueries`);
  const selector = expr.kind === "matrix" ? expr.selector : expr;
  if (selector.kind !== "vector")
    return reader.fail(expr.span, `${which} modifier not implemented`);
  selector[which] = true;
  if (selector.anchored && selector.smoothed) {
    reader.fail(expr.span, "anchored and smoothed modifiers cannot be used together");
  }
  return expr;
}

/** The vector matching of a binary operation: bool, on, ignoring, group_left, group_right and fill. */
export function matchingOf(
  reader: QueryTextReader,
  modifiers: readonly SyntaxNode[],
): { bool: boolean; matching: VectorMatching } {
  const matching: VectorMatching = { card: "one-to-one", labels: [], on: false, include: [] };
  let bool = false;
  for (const modifier of modifiers) {
    if (modifier.name === "BoolModifier") bool = true;
    else if (modifier.name === "MatchingModifierClause") readClause(reader, modifier, matching);
    else if (modifier.name === "FillModifier") readFill(reader, modifier, matching);
  }
  return { bool, matching };
}

function readClause(reader: QueryTextReader, clause: SyntaxNode, matching: VectorMatching): void {
  const [how, labels, group, include] = children(clause);
  matching.on = how?.name === "On";
  if (labels !== undefined) matching.labels = reader.labels(labels);
  if (group === undefined) return;
  matching.card = group.name === "GroupLeft" ? "many-to-one" : "one-to-many";
  if (include !== undefined) matching.include = reader.labels(include);
}

function readFill(reader: QueryTextReader, modifier: SyntaxNode, matching: VectorMatching): void {
  for (const clause of children(modifier)) {
    const literal = clause.getChild("NumberDurationLiteral");
    if (literal === null) continue;
    const { value } = numberOf(reader, literal);
    if (clause.name !== "FillRightClause") matching.fillLeft = value;
    if (clause.name !== "FillLeftClause") matching.fillRight = value;
  }
}
