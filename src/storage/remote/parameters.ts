/** Formats matchers as PromQL that every engine accepts: names inside braces, and label names quoted only if necessary. */
import { quote } from "../../query/quote.ts";
import type { Matcher } from "../../model/select.ts";

const plainName = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Without matchers, selects every series; engines require at least one matcher that does not match an empty label. */
export function selectorText(matchers: readonly Matcher[]): string {
  const given = matchers.length === 0 ? [everything] : matchers;
  const parts = given.map(
    ({ name, op, value }) => `${plainName.test(name) ? name : quote(name)}${op}${quote(value)}`,
  );
  return `{${parts.join(",")}}`;
}

const everything: Matcher = { name: "__name__", op: "!=", value: "" };

const latestMs = Date.UTC(2100, 0, 1);
/** VictoriaMetrics 1.79 finds no series from 0 on if the end is in the future. */
const earliestMs = 1;

/** Clamps times to the range that engines accept: they overflow at the limits of their integers. */
export const clampMs = (timeMs: number): number =>
  Math.max(earliestMs, Math.min(Math.round(timeMs), latestMs));

/** Formats milliseconds as seconds, without an exponent. */
export const secondsText = (timeMs: number): string => (timeMs / 1_000).toFixed(3);
