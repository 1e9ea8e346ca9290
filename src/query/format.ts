/** Prints an AST like Prometheus: on one line, or split into lines of 100 characters for format_query. */
import {
  aggregatesWithParam,
  type Aggregate,
  type Binary,
  type DurationNode,
  type Expr,
  type MatrixSelector,
  type NumberLiteral,
  type Subquery,
  type TimeShift,
  type VectorSelector,
} from "./ast.ts";
import { printDurationMs, printFloat, printShortest } from "./number.ts";
import { quote } from "./quote.ts";

const maxLine = 100;
const plainLabel = /^[A-Za-z_][A-Za-z0-9_]*$/;

export function print(expr: Expr): string {
  switch (expr.kind) {
    case "number":
      return printNumber(expr);
    case "string":
      return quote(expr.value);
    case "vector":
      return printSelector(expr);
    case "matrix":
      return printMatrix(expr);
    case "subquery":
      return print(expr.expr) + subquerySuffix(expr);
    case "call":
      return `${expr.name}(${expr.args.map(print).join(", ")})`;
    case "aggregate":
      return `${aggregateHead(expr)}(${expr.param === undefined ? "" : `${print(expr.param)}, `}${print(expr.expr)})`;
    case "binary":
      return `${print(expr.lhs)} ${operator(expr)} ${print(expr.rhs)}`;
    case "unary":
      return expr.op + print(expr.expr);
    case "paren":
      return `(${print(expr.expr)})`;
  }
}

export function pretty(expr: Expr, level = 0): string {
  const indent = "  ".repeat(level);
  const line = print(expr);
  const fits = line.length <= maxLine;
  if (expr.kind === "unary") return `${indent}${expr.op}${pretty(expr.expr, level).trim()}`;
  if (expr.kind === "subquery")
    return fits ? line : pretty(expr.expr, level) + subquerySuffix(expr);
  if (fits) return indent + line;
  if (expr.kind === "aggregate") {
    const withParam = aggregatesWithParam.has(expr.op) && expr.param !== undefined;
    const param =
      withParam && expr.param !== undefined ? `${pretty(expr.param, level + 1)},\n` : "";
    return `${indent}${aggregateHead(expr)}(\n${param}${pretty(expr.expr, level + 1)}\n${indent})`;
  }
  if (expr.kind === "binary") {
    return `${pretty(expr.lhs, level + 1)}\n${indent}${operator(expr)}\n${pretty(expr.rhs, level + 1)}`;
  }
  if (expr.kind === "call") {
    const args = expr.args.map((arg) => pretty(arg, level + 1)).join(",\n");
    return `${indent}${expr.name}(\n${args}\n${indent})`;
  }
  if (expr.kind === "paren") return `${indent}(\n${pretty(expr.expr, level + 1)}\n${indent})`;
  return indent + line;
}

function printNumber(expr: NumberLiteral): string {
  if (!expr.duration) return printFloat(expr.value);
  const ms = Math.trunc(Math.abs(expr.value) * 1000);
  return (expr.value < 0 ? "-" : "") + printDurationMs(ms);
}

function aggregateHead(expr: Aggregate): string {
  if (expr.without) return `${expr.op} without (${labelList(expr.grouping)}) `;
  return expr.grouping.length > 0 ? `${expr.op} by (${labelList(expr.grouping)}) ` : expr.op;
}

function labelList(labels: readonly string[]): string {
  return labels.map((label) => (plainLabel.test(label) ? label : quote(label))).join(", ");
}

function operator(expr: Binary): string {
  return expr.op + (expr.bool ? " bool" : "") + matchingText(expr);
}

function matchingText({ matching }: Binary): string {
  if (matching === undefined) return "";
  const { card, fillLeft, fillRight } = matching;
  const grouped = card === "many-to-one" || card === "one-to-many";
  let out = "";
  if (matching.labels.length > 0 || matching.on || grouped) {
    out += ` ${matching.on ? "on" : "ignoring"} (${labelList(matching.labels)})`;
  }
  if (grouped)
    out += ` group_${card === "many-to-one" ? "left" : "right"} (${labelList(matching.include)})`;
  if (fillLeft !== undefined && fillLeft === fillRight)
    return `${out} fill (${printShortest(fillLeft)})`;
  if (fillLeft !== undefined) out += ` fill_left (${printShortest(fillLeft)})`;
  if (fillRight !== undefined) out += ` fill_right (${printShortest(fillRight)})`;
  return out;
}

function printSelector(expr: VectorSelector): string {
  const extended = expr.anchored ? " anchored" : expr.smoothed ? " smoothed" : "";
  return selectorHead(expr) + atText(expr) + extended + offsetText(expr);
}

function selectorHead(expr: VectorSelector): string {
  const matchers = expr.matchers
    .filter(
      ({ name, op, value }) =>
        name !== "__name__" || op !== "=" || value !== expr.name || value === "",
    )
    .map(
      ({ name, op, value }) => `${plainLabel.test(name) ? name : quote(name)}${op}${quote(value)}`,
    )
    .sort();
  return expr.name + (matchers.length > 0 ? `{${matchers.join(",")}}` : "");
}

function printMatrix(expr: MatrixSelector): string {
  const { selector } = expr;
  const extended = selector.anchored ? " anchored" : selector.smoothed ? " smoothed" : "";
  const range =
    expr.rangeExpr === undefined ? printDurationMs(expr.rangeMs) : printDuration(expr.rangeExpr);
  return `${selectorHead(selector)}[${range}]${extended}${atText(selector)}${offsetText(selector)}`;
}

function subquerySuffix(expr: Subquery): string {
  const range =
    expr.rangeExpr === undefined ? printDurationMs(expr.rangeMs) : printDuration(expr.rangeExpr);
  const step = expr.stepExpr === undefined ? "" : printDuration(expr.stepExpr);
  return `[${range}:${expr.stepMs === 0 ? step : printDurationMs(expr.stepMs)}]${atText(expr)}${offsetText(expr)}`;
}

function atText(shift: TimeShift): string {
  if (shift.atMs !== undefined) return ` @ ${(shift.atMs / 1000).toFixed(3)}`;
  return shift.atEdge === undefined ? "" : ` @ ${shift.atEdge}()`;
}

function offsetText(shift: TimeShift): string {
  if (shift.offsetExpr !== undefined) return ` offset ${printDuration(shift.offsetExpr)}`;
  if (shift.offsetMs === 0) return "";
  return ` offset ${shift.offsetMs < 0 ? "-" : ""}${printDurationMs(Math.abs(shift.offsetMs))}`;
}

function printDuration(node: DurationNode): string {
  if (node.kind === "number") return printNumber(node);
  const { op, lhs, rhs } = node;
  let out: string;
  if (op === "step" || op === "range") out = `${op}()`;
  else if (rhs === undefined) out = "";
  else if (lhs === undefined) out = (op === "-" ? "-" : "") + printDuration(rhs);
  else if (op === "min_of" || op === "max_of")
    out = `${op}(${printDuration(lhs)}, ${printDuration(rhs)})`;
  else out = `${printDuration(lhs)} ${op} ${printDuration(rhs)}`;
  return node.wrapped ? `(${out})` : out;
}
