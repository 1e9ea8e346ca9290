/** Label matchers and their notation. parse-matchers.ts parses them. */
import { RE2JS } from "re2js";
import { GpulseError, formatError } from "../../base/error.ts";

export type MatchOp = "=" | "!=" | "=~" | "!~";

export interface LabelMatcher {
  readonly name: string;
  readonly op: MatchOp;
  readonly value: string;
  readonly matches: (value: string) => boolean;
}

/** @throws GpulseError if the value is not a valid regular expression. */
export function labelMatcher(name: string, op: MatchOp, value: string): LabelMatcher {
  if (op === "=~" || op === "!~") {
    const pattern = wholePattern(value);
    return patternMatcher(name, op, value, () => pattern);
  }
  return trustedMatcher(name, op, value);
}

/** Like `labelMatcher`, for a pattern known to be valid: it is compiled at its first use. */
export function trustedMatcher(name: string, op: MatchOp, value: string): LabelMatcher {
  if (op === "=") return { name, op, value, matches: (given) => given === value };
  if (op === "!=") return { name, op, value, matches: (given) => given !== value };
  let pattern: RE2JS | undefined;
  return patternMatcher(name, op, value, () => (pattern ??= wholePattern(value)));
}

function patternMatcher(
  name: string,
  op: "=~" | "!~",
  value: string,
  pattern: () => RE2JS,
): LabelMatcher {
  const wanted = op === "=~";
  return { name, op, value, matches: (given) => pattern().matcher(given).find() === wanted };
}

/** As in Alertmanager, without the flag that lets a dot match a newline. */
const wholePattern = (value: string): RE2JS => compilePattern(`^(?:${value})$`);

/** @throws GpulseError with RE2's message. */
export function compilePattern(pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern);
  } catch (thrown) {
    throw new GpulseError("ALERT_CONFIG", formatError(thrown), { cause: thrown });
  }
}

/** True if all matchers match; a missing label counts as empty. */
export function matchesAll(
  matchers: readonly LabelMatcher[],
  labels: ReadonlyMap<string, string>,
): boolean {
  return matchers.every(({ name, matches }) => matches(labels.get(name) ?? ""));
}

/** Formats a matcher as Alertmanager does; a non-classic name is quoted. */
export function matcherText({ name, op, value }: Omit<LabelMatcher, "matches">): string {
  const printed = classicName.test(name) ? name : `"${escaped(name)}"`;
  return `${printed}${op}"${escaped(value)}"`;
}

/** Formats matchers as `{a="b",c=~"d"}`, sorted and not in the file's order. */
export function matchersText(matchers: readonly LabelMatcher[]): string {
  return `{${[...matchers].sort(inOrder).map(matcherText).join(",")}}`;
}

export const classicName = /^[A-Za-z_][A-Za-z0-9_]*$/;

const escaped = (text: string): string =>
  text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');

const opOrder: readonly MatchOp[] = ["=", "!=", "=~", "!~"];

function inOrder(left: LabelMatcher, right: LabelMatcher): number {
  if (left.name !== right.name) return left.name < right.name ? -1 : 1;
  if (left.value !== right.value) return left.value < right.value ? -1 : 1;
  return opOrder.indexOf(left.op) - opOrder.indexOf(right.op);
}
