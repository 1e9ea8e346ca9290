/**
 * Parses matchers in both of Alertmanager's grammars. The classic grammar is tried first, so that every text valid in an older
 * Alertmanager keeps its meaning; the newer one allows any UTF-8 in names and values.
 */
import { GpulseError } from "../../base/error.ts";
import { readString } from "../../formats/template/lex.ts";
import { type LabelMatcher, labelMatcher, type MatchOp } from "./matchers.ts";

const classic =
  /^[\t\n\f\r ]*([a-zA-Z_:][a-zA-Z0-9_:]*)[\t\n\f\r ]*(=~|=|!=|!~)[\t\n\f\r ]*([^]*?)[\t\n\f\r ]*$/;

/** Parses one or several matchers, with or without braces. @throws GpulseError with Alertmanager's message. */
export function parseMatchers(text: string): LabelMatcher[] {
  return either(
    () => classicTokens(text).map(classicMatcher),
    () => modernMatchers(text),
  );
}

/** Parses exactly one matcher. @throws GpulseError with Alertmanager's message. */
export function parseMatcher(text: string): LabelMatcher {
  return either(
    () => classicMatcher(text),
    () => {
      const [first, ...more] = modernMatchers(text);
      return first === undefined || more.length > 0 ? refuse(`bad matcher format: ${text}`) : first;
    },
  );
}

/** If both grammars fail, throws the classic one's error. */
function either<Read>(first: () => Read, second: () => Read): Read {
  try {
    return first();
  } catch (thrown) {
    try {
      return second();
    } catch {
      throw thrown;
    }
  }
}

function refuse(sentence: string): never {
  throw new GpulseError("ALERT_CONFIG", sentence);
}

/** Splits at commas outside of quotes. A trailing comma is ignored. */
function classicTokens(text: string): string[] {
  const inner = text.replace(/^\{/, "").replace(/\}$/, "");
  const tokens: string[] = [];
  let [token, quoted, escaped] = ["", false, false];
  for (const char of inner) {
    if (char === "," && !quoted) {
      tokens.push(token);
      token = "";
      continue;
    }
    if (char === '"' && !escaped) quoted = !quoted;
    // As in Alertmanager, a comma within quotes does not reset a pending backslash.
    if (char !== ",") escaped = char === "\\" && !escaped;
    token += char;
  }
  const last = token.trim();
  return last === "" ? tokens : [...tokens, last];
}

function classicMatcher(text: string): LabelMatcher {
  const match = classic.exec(text);
  if (match === null) return refuse(`bad matcher format: ${text}`);
  const [, name = "", op = "=", raw = ""] = match;
  return labelMatcher(name, op as MatchOp, classicValue(raw));
}

/** Quotes only around the whole value; `\"`, `\\` and `\n` are escapes, any other backslash is literal. */
function classicValue(raw: string): string {
  const stray = (): never => refuse(`matcher value contains unescaped double quote: ${raw}`);
  const quoted = raw.startsWith('"');
  const inner = quoted ? raw.slice(1) : raw;
  let value = "";
  let closed = !quoted;
  for (let at = 0; at < inner.length; at++) {
    const char = inner.charAt(at);
    if (char === "\\" && at < inner.length - 1) {
      const next = inner.charAt(++at);
      value += next === "n" ? "\n" : next === '"' || next === "\\" ? next : `\\${next}`;
    } else if (char === '"') {
      if (closed || at < inner.length - 1) stray();
      closed = true;
    } else value += char;
  }
  return closed ? value : stray();
}

const blank = /[\s\u0085]*/uy;
const word = /"(?:[^"\\\n]|\\.)*"|[^\s\u0085{}!=~,\\"'`]+/uy;
const operator = /=~|!~|!=|=/y;

/** `{ "name with spaces" = "value", other =~ a|b }`: both braces or none. */
function modernMatchers(text: string): LabelMatcher[] {
  let at = 0;
  const eat = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (found !== undefined) at += found.length;
    return found;
  };
  const eatChar = (char: string): boolean => {
    eat(blank);
    if (text[at] !== char) return false;
    at++;
    return true;
  };
  const eatWord = (): string => {
    eat(blank);
    const found = eat(word) ?? refuse(`bad matcher format: ${text}`);
    return found.startsWith('"') ? readString(found) : found;
  };
  const open = eatChar("{");
  const found: LabelMatcher[] = [];
  const atEnd = (): boolean => {
    eat(blank);
    return at === text.length || text[at] === "}";
  };
  while (!atEnd()) {
    const name = eatWord();
    eat(blank);
    const op = eat(operator) ?? refuse(`bad matcher format: ${text}`);
    found.push(labelMatcher(name, op as MatchOp, eatWord()));
    if (!eatChar(",")) break;
  }
  if (eatChar("}") !== open) refuse(`bad matcher format: ${text}`);
  eat(blank);
  return at === text.length ? found : refuse(`bad matcher format: ${text}`);
}
