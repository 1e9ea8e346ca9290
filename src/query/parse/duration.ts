/** Durations in brackets and after offset: literals, or arithmetic that depends on the query's step and range. */
import type { SyntaxNode } from "@lezer/common";
import type { DurationExpr, DurationNode, Span } from "../ast.ts";
import { maxSeconds, numberOf } from "./literal.ts";
import { children, spanOf, type QueryTextReader } from "./reader.ts";

type Op = DurationExpr["op"];
const operators: Readonly<Record<string, Op>> = {
  Add: "+",
  Sub: "-",
  Mul: "*",
  Div: "/",
  Mod: "%",
  Pow: "^",
};

export function durationOf(reader: QueryTextReader, node: SyntaxNode): DurationNode {
  const [first, second, third] = children(node);
  const span = spanOf(node);
  if (first === undefined)
    return reader.fail(span, "unexpected end of input in duration expression");
  if (first.name === "NumberDurationLiteralInDurationContext") return literal(reader, first);
  if (first.name === "DurationStep") return call("step", span);
  if (first.name === "DurationRange") return call("range", span);
  if (first.name === "DurationMinOf" || first.name === "DurationMaxOf") {
    if (second === undefined || third === undefined)
      return reader.fail(span, "unexpected end of input");
    const op = first.name === "DurationMinOf" ? "min_of" : "max_of";
    return { ...call(op, span), lhs: durationOf(reader, second), rhs: durationOf(reader, third) };
  }
  if (first.name === "UnaryOp" && second !== undefined) return signed(reader, first, second, span);
  if (second === undefined) {
    const inner = durationOf(reader, first);
    return inner.kind === "duration" ? { ...inner, wrapped: true, span } : inner;
  }
  const op = operators[second.name];
  if (op === undefined || third === undefined)
    return reader.fail(span, "unexpected duration expression");
  const rhs = durationOf(reader, third);
  if (rhs.kind === "number" && rhs.value === 0 && (op === "/" || op === "%")) {
    reader.fail(spanOf(second), op === "/" ? "division by zero" : "modulo by zero");
  }
  return { kind: "duration", op, lhs: durationOf(reader, first), rhs, wrapped: false, span };
}

function literal(reader: QueryTextReader, node: SyntaxNode): DurationNode {
  const number = numberOf(reader, node);
  if (Math.abs(number.value) > maxSeconds) reader.fail(number.span, "duration out of range");
  return number;
}

function signed(
  reader: QueryTextReader,
  sign: SyntaxNode,
  operand: SyntaxNode,
  span: Span,
): DurationNode {
  const negative = reader.text(sign) === "-";
  const inner = durationOf(reader, operand);
  if (inner.kind === "number")
    return { ...inner, value: negative ? -inner.value : inner.value, span };
  if (!negative) return inner;
  return { kind: "duration", op: "-", rhs: inner, wrapped: false, span };
}

function call(op: Op, span: Span): DurationExpr {
  return { kind: "duration", op, wrapped: false, span };
}

/** Ranges and steps must be positive; the value of an expression is checked later. */
export function nonZeroMs(reader: QueryTextReader, duration: DurationNode): DurationNode {
  if (duration.kind === "number" && !(duration.value > 0)) {
    reader.fail(duration.span, "duration must be greater than 0");
  }
  return duration;
}

/** Returns the literal in milliseconds, or 0 and the expression for it. */
export function secondsToMs(duration: DurationNode): [ms: number, expr: DurationExpr | undefined] {
  if (duration.kind === "duration") return [0, duration];
  return [Math.trunc(Math.round(duration.value * 1e9) / 1e6), undefined];
}
