/** Number literals: a number or a duration, which are interchangeable in PromQL. */
import type { SyntaxNode } from "@lezer/common";
import type { NumberLiteral } from "../ast.ts";
import { readDurationMs, readNumber } from "../number.ts";
import { quote } from "../quote.ts";
import type { QueryTextReader } from "./reader.ts";

/** Larger durations overflow Prometheus's nanoseconds. */
export const maxSeconds = 2 ** 63 / 1e9;

export function numberOf(reader: QueryTextReader, node: SyntaxNode): NumberLiteral {
  const text = reader.text(node);
  const sign = /^[-+]/.exec(text)?.[0];
  const body = sign === undefined ? text : text.slice(1).trim();
  const span = { start: node.from, end: node.to };
  const negate = (value: number): number => (sign === "-" ? -value : value);
  const number = readNumber(body);
  if (number === Infinity && /^\d/.test(body)) {
    const problem = `error parsing number: strconv.ParseFloat: parsing ${quote(body)}: value out of range`;
    reader.fail(span, problem);
  }
  if (number !== undefined) return { kind: "number", value: negate(number), duration: false, span };
  const ms = readDurationMs(body);
  if (ms === undefined) {
    const problem = `error parsing number: strconv.ParseFloat: parsing ${quote(body)}: invalid syntax`;
    return reader.fail(span, problem);
  }
  if (ms / 1000 > maxSeconds) reader.fail(span, "duration out of range");
  return { kind: "number", value: negate(ms / 1000), duration: true, span };
}
