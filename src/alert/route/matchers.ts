/** Alertmanager's matchers: `severity="critical"`, `{host=~"gpu.*", team!="a"}`, names in quotes where they need them. */
import { RE2JS } from "re2js";
import { GpulseError } from "../../errors/error.ts";

export type MatchOp = "=" | "!=" | "=~" | "!~";

export interface LabelMatcher {
  readonly name: string;
  readonly op: MatchOp;
  readonly value: string;
  readonly matches: (value: string) => boolean;
}

export function labelMatcher(name: string, op: MatchOp, value: string): LabelMatcher {
  if (op === "=") return { name, op, value, matches: (given) => given === value };
  if (op === "!=") return { name, op, value, matches: (given) => given !== value };
  let pattern: RE2JS;
  try {
    pattern = RE2JS.compile(`^(?:${value})$`, RE2JS.DOTALL);
  } catch {
    throw new GpulseError(
      "ALERT_CONFIG",
      `"${value}" is no regular expression (RE2) in a matcher.`,
    );
  }
  const wanted = op === "=~";
  return { name, op, value, matches: (given) => pattern.matcher(given).find() === wanted };
}

/** All of them hold; a label that is not there is empty. */
export function matchesAll(
  matchers: readonly LabelMatcher[],
  labels: ReadonlyMap<string, string>,
): boolean {
  return matchers.every(({ name, matches }) => matches(labels.get(name) ?? ""));
}

const part =
  /\s*(?:"((?:[^"\\]|\\.)*)"|([^\s"{}=!~,]+))\s*(=~|!~|!=|=)\s*(?:"((?:[^"\\]|\\.)*)"|([^,"{}]*?))\s*(,|$)/y;

/** One matcher or several, with or without braces. */
export function parseMatchers(text: string): LabelMatcher[] {
  const trimmed = text.trim();
  const inner =
    trimmed.startsWith("{") && trimmed.endsWith("}") ? trimmed.slice(1, -1).trim() : trimmed;
  const found: LabelMatcher[] = [];
  part.lastIndex = 0;
  while (part.lastIndex < inner.length) {
    const match = part.exec(inner);
    if (match === null)
      throw new GpulseError(
        "ALERT_CONFIG",
        `"${text}" is no matcher: write name="value", with =, !=, =~ or !~.`,
      );
    const [, quotedName, bareName, op = "=", quotedValue, bareValue] = match;
    const name = quotedName === undefined ? (bareName ?? "") : unquote(quotedName);
    const value = quotedValue === undefined ? (bareValue ?? "") : unquote(quotedValue);
    found.push(labelMatcher(name, op as MatchOp, value));
    if (match[0].length === 0) break;
  }
  if (found.length === 0 && inner !== "")
    throw new GpulseError("ALERT_CONFIG", `"${text}" is no matcher.`);
  return found;
}

const unquote = (text: string): string =>
  text.replace(/\\(["\\n])/g, (_, char: string) => (char === "n" ? "\n" : char));

export const matcherText = ({ name, op, value }: LabelMatcher): string =>
  `${/^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name)}${op}${JSON.stringify(value)}`;
