/** What a label must be: one comparison of a matcher, and how it is written. Reading them is in parse-matchers.ts. */
import { RE2JS } from "re2js";
import { GpulseError, formatError } from "../../base/error.ts";

export type MatchOp = "=" | "!=" | "=~" | "!~";

export interface LabelMatcher {
  readonly name: string;
  readonly op: MatchOp;
  readonly value: string;
  readonly matches: (value: string) => boolean;
}

/** @throws GpulseError where the value is no regular expression. */
export function labelMatcher(name: string, op: MatchOp, value: string): LabelMatcher {
  if (op === "=") return { name, op, value, matches: (given) => given === value };
  if (op === "!=") return { name, op, value, matches: (given) => given !== value };
  // Without the flag that lets a dot match a line's end, as Alertmanager has it.
  const pattern = compilePattern(`^(?:${value})$`);
  const wanted = op === "=~";
  return { name, op, value, matches: (given) => pattern.matcher(given).find() === wanted };
}

/** @throws GpulseError in RE2's words. */
export function compilePattern(pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern);
  } catch (thrown) {
    throw new GpulseError("ALERT_CONFIG", formatError(thrown), { cause: thrown });
  }
}

/** All of them hold; a label that is not there is empty. */
export function matchesAll(
  matchers: readonly LabelMatcher[],
  labels: ReadonlyMap<string, string>,
): boolean {
  return matchers.every(({ name, matches }) => matches(labels.get(name) ?? ""));
}

/** As Alertmanager writes it; a name that is no classic one in quotes. */
export function matcherText({ name, op, value }: Omit<LabelMatcher, "matches">): string {
  const printed = classicName.test(name) ? name : `"${escaped(name)}"`;
  return `${printed}${op}"${escaped(value)}"`;
}

/** `{a="b",c=~"d"}`, in an order of its own and not the file's. */
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
