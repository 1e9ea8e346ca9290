/** Matchers as PromQL writes them, in the form that every engine reads: names between braces, no quoted label names where plain ones do. */
import { quote } from "../../query/quote.ts";
import type { Matcher } from "../../model/select.ts";

const plainName = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** No matcher at all means every series; an engine wants at least one that no empty label satisfies. */
export function selectorText(matchers: readonly Matcher[]): string {
  const given = matchers.length === 0 ? [everything] : matchers;
  const parts = given.map(
    ({ name, op, value }) => `${plainName.test(name) ? name : quote(name)}${op}${quote(value)}`,
  );
  return `{${parts.join(",")}}`;
}

const everything: Matcher = { name: "__name__", op: "!=", value: "" };

const latestMs = Date.UTC(2100, 0, 1);
/** VictoriaMetrics 1.79 finds no series from 0 on when the end lies in the future. */
const earliestMs = 1;

/** Times as engines accept them, clamped: engines overflow at the limits of their integers. */
export const clampMs = (timeMs: number): number =>
  Math.max(earliestMs, Math.min(Math.round(timeMs), latestMs));

/** Milliseconds as seconds, without an exponent. */
export const secondsText = (timeMs: number): string => (timeMs / 1_000).toFixed(3);
