/**
 * Splits a query into tokens, with Prometheus's messages for invalid text. The grammar's own tokenizer is looser (open
 * strings, `1.`), so plain.ts rewrites its input from these tokens.
 */
import { ParseError } from "../errors.ts";
import { quote } from "../quote.ts";

export type QueryTokenKind =
  | "identifier"
  | "metric"
  | "keyword"
  | "number"
  | "duration"
  | "string"
  | "sign";

export interface QueryToken {
  readonly kind: QueryTokenKind;
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** Inside [ ], where durations are expected. */
  readonly inBrackets: boolean;
}

const keywords: ReadonlySet<string> = new Set(
  (
    "and or unless atan2 sum avg count min max group stddev stdvar topk bottomk count_values quantile limitk " +
    "limit_ratio offset smoothed anchored by without on ignoring group_left group_right fill fill_left fill_right " +
    "bool start end step range max_of min_of"
  ).split(" "),
);

/** The keywords that are followed by labels in parentheses. */
export const groupers: ReadonlySet<string> = new Set(
  "by without on ignoring group_left group_right".split(" "),
);

const durationWords = new Set(["step", "range", "min_of", "max_of", "inf", "nan"]);

const space = /[ \t\r\n]/;
const word = /[A-Za-z_:][A-Za-z0-9_:]*/y;
const numeric =
  /(?:\d+(?:ms|[ywdhms]))+|0[xX][0-9a-fA-F_]+(?:\.[0-9a-fA-F]*)?(?:[pP][+-]?\d+)?|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?[\d_]+)?/y;
const signs = ["==", "!=", "<=", ">=", "=~", "!~", "</", ">/"] as const;
const single = new Set("(){}[],=:+-*/%^<>@".split(""));

export interface LexResult {
  readonly tokens: readonly QueryToken[];
  /** Why tokenizing stopped early. Errors in earlier tokens are reported first. */
  readonly problem?: ParseError | undefined;
}

export function lex(query: string): LexResult {
  const tokens: QueryToken[] = [];
  try {
    fillTokens(query, tokens);
    return { tokens };
  } catch (thrown) {
    if (thrown instanceof ParseError) return { tokens, problem: thrown };
    throw thrown;
  }
}

function fillTokens(query: string, tokens: QueryToken[]): void {
  const fail = (start: number, problem: string): never => {
    throw new ParseError(query, { start, end: query.length }, problem);
  };
  let at = 0;
  let parens = 0;
  let inBraces = false;
  let inBrackets = false;
  const push = (kind: QueryTokenKind, length: number): void => {
    tokens.push({
      kind,
      text: query.slice(at, at + length),
      start: at,
      end: at + length,
      inBrackets,
    });
    at += length;
  };
  while (at < query.length) {
    const char = query[at] ?? "";
    if (space.test(char)) {
      at++;
      continue;
    }
    if (char === "#") {
      const end = query.indexOf("\n", at);
      at = end < 0 ? query.length : end;
      continue;
    }
    if (char === '"' || char === "'" || char === "`") {
      if (inBrackets) fail(at, `unexpected character in duration expression: ${rune(char)}`);
      push("string", stringLength(query, at, fail));
      continue;
    }
    word.lastIndex = at;
    const name = char === ":" && (inBrackets || inBraces) ? undefined : word.exec(query)?.[0];
    if (name !== undefined) {
      pushWord(name);
      continue;
    }
    numeric.lastIndex = at;
    const number = numeric.exec(query)?.[0];
    if (number !== undefined) {
      if (inBraces) fail(at, `unexpected character inside braces: ${rune(char)}`);
      pushNumber(number);
      continue;
    }
    pushSign(char);
  }
  if (inBraces) fail(query.length, "unexpected end of input inside braces");
  if (inBrackets) {
    const problem = "unexpected end of input in duration expression";
    fail(query.length, tokens.at(-1)?.text === "[" ? problem : "unclosed left bracket");
  }
  if (parens > 0) fail(query.length, "unclosed left parenthesis");

  function pushWord(name: string): void {
    if (inBrackets && !durationWords.has(name.toLowerCase())) {
      const afterNumber = /^(?:number|duration)$/.test(tokens.at(-1)?.kind ?? "");
      const char = rune(name);
      fail(
        at,
        afterNumber
          ? `unexpected character: ${char}, expected ':'`
          : `unexpected character in duration expression: ${char}`,
      );
    }
    const bare = inBraces ? (name.split(":")[0] ?? name) : name;
    const lower = bare.toLowerCase();
    if (lower === "inf" || lower === "nan") push(inBraces ? "identifier" : "number", bare.length);
    else if (keywords.has(lower) && !inBraces) push("keyword", bare.length);
    else push(bare.includes(":") ? "metric" : "identifier", bare.length);
  }

  function pushNumber(number: string): void {
    const after = query[at + number.length] ?? "";
    if (/[A-Za-z0-9_.]/.test(after)) {
      fail(at, `bad number or duration syntax: ${quote(after === "x" ? number : number + after)}`);
    }
    push(/[ywdhms]$/.test(number) && !/^0x/i.test(number) ? "duration" : "number", number.length);
  }

  function pushSign(char: string): void {
    const two = query.slice(at, at + 2);
    if ((two === "=~" || two === "!~") && !inBraces) {
      fail(at, `unexpected character after '${char}': '~'`);
    }
    if (inBraces && /^(?:==|<|>)/.test(two)) {
      if (two === "==") return push("sign", 1);
      fail(at, `unexpected character inside braces: ${rune(char)}`);
    }
    if (signs.some((sign) => sign === two)) {
      push("sign", 2);
      return;
    }
    if (char === "!") {
      const where = inBraces ? " inside braces" : "";
      fail(at, `unexpected character after '!'${where}: ${rune(query[at + 1] ?? "")}`);
    }
    if (!single.has(char)) {
      if (inBraces) fail(at, `unexpected character inside braces: ${rune(char)}`);
      fail(at, `unexpected character: ${rune(query.slice(at))}`);
    }
    if (inBraces && /[()[\]@+\-*/%^<>:]/.test(char))
      fail(at, `unexpected character inside braces: ${rune(char)}`);
    if (char === "(") parens++;
    if (char === ")" && --parens < 0) fail(at + 1, "unexpected right parenthesis ')'");
    if (char === ":" && inBrackets && tokens.at(-1)?.text === "[") {
      fail(at + 1, "unexpected colon before duration in duration expression");
    }
    if (char === "{") {
      if (inBraces) fail(at, "unexpected left brace '{'");
      inBraces = true;
    }
    if (char === "}") {
      if (!inBraces) fail(at, "unexpected character: '}'");
      inBraces = false;
    }
    if (char === "[" && inBrackets) fail(at, "unexpected left bracket '['");
    if (char === "]" && !inBrackets) fail(at, "unexpected right bracket ']'");
    if (char === "[") inBrackets = true;
    push("sign", 1);
    if (char === "]") inBrackets = false;
  }
}

function stringLength(
  query: string,
  at: number,
  fail: (at: number, problem: string) => never,
): number {
  const mark = query[at] ?? "";
  for (let end = at + 1; end < query.length; end++) {
    const char = query[end];
    if (char === mark) {
      if (mark !== "`") checkEscapes(query.slice(at + 1, end), (problem) => fail(at, problem));
      return end + 1 - at;
    }
    if (mark === "`") continue;
    if (char === "\n") break;
    if (char === "\\") end++;
  }
  return fail(at, mark === "`" ? "unterminated raw string" : "unterminated quoted string");
}

/** Go's %q of a rune. */
function rune(text: string): string {
  const char = String.fromCodePoint(text.codePointAt(0) ?? 65533);
  return char === "'" ? "'\\''" : `'${quote(char).slice(1, -1).replace('\\"', '"')}'`;
}

/** Reports invalid escapes of a quoted string, in Prometheus's words; quote.ts resolves valid ones. */
function checkEscapes(body: string, fail: (problem: string) => void): void {
  for (let at = body.indexOf("\\"); at >= 0; at = body.indexOf("\\", at)) {
    const letter = body[at + 1];
    if (letter === undefined) return fail("escape sequence not terminated");
    if (/["'abfnrtv\\]/.test(letter)) {
      at += 2;
      continue;
    }
    const shape = shapes[letter] ?? (/[0-7]/.test(letter) ? octal : undefined);
    if (shape === undefined) return fail(`unknown escape sequence ${unicode(letter)}`);
    const start = shape === octal ? at + 1 : at + 2;
    for (let index = 0; index < shape.digits; index++) {
      const digit = body[start + index];
      if (digit === undefined) return fail("escape sequence not terminated");
      if (!shape.allowed.test(digit)) {
        return fail(`illegal character ${unicode(digit)} in escape sequence`);
      }
    }
    const code = Number.parseInt(body.slice(start, start + shape.digits), shape === octal ? 8 : 16);
    if (code > shape.max || (code >= 0xd800 && code < 0xe000)) {
      return fail("escape sequence is an invalid Unicode code point");
    }
    at = start + shape.digits;
  }
}

interface Shape {
  readonly digits: number;
  readonly allowed: RegExp;
  readonly max: number;
}

const octal: Shape = { digits: 3, allowed: /[0-7]/, max: 255 };
const shapes: Readonly<Record<string, Shape>> = {
  x: { digits: 2, allowed: /[0-9a-fA-F]/, max: 255 },
  u: { digits: 4, allowed: /[0-9a-fA-F]/, max: 0x10ffff },
  U: { digits: 8, allowed: /[0-9a-fA-F]/, max: 0x10ffff },
};

/** Go's %#U. */
function unicode(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  return `U+${code.toString(16).toUpperCase().padStart(4, "0")} '${char}'`;
}
