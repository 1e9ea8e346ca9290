/** Splits a template in Go's text/template language into text and the tokens of its actions. Purely lexical. */

export type TemplateTokenKind =
  | "text"
  | "open"
  | "close"
  | "space"
  | "word"
  | "field"
  | "variable"
  | "dot"
  | "string"
  | "number"
  | "char"
  | "declare"
  | "assign"
  | "pipe"
  | "comma"
  | "left"
  | "right"
  | "end";

export interface TemplateToken {
  readonly kind: TemplateTokenKind;
  readonly text: string;
  readonly at: number;
}

export class TemplateError extends Error {}

/** The token patterns of an action, tried in this order; sticky, so that nothing is scanned twice. */
const inside: readonly (readonly [TemplateTokenKind, RegExp])[] = [
  ["space", /[ \t\r\n]+/y],
  ["declare", /:=/y],
  ["assign", /=/y],
  ["pipe", /\|/y],
  ["comma", /,/y],
  ["left", /\(/y],
  ["right", /\)/y],
  ["string", /"(?:[^"\\\n]|\\.)*"|`[^`]*`/y],
  ["char", /'(?:[^'\\\n]|\\.[0-9a-fA-F]{0,8})'/y],
  [
    "number",
    /[+-]?(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?)/y,
  ],
  ["variable", /\$[\p{L}_\p{Nd}]*/uy],
  ["field", /\.[\p{L}_][\p{L}_\p{Nd}]*/uy],
  ["dot", /\./y],
  ["word", /[\p{L}_][\p{L}_\p{Nd}]*/uy],
];

export function lex(source: string): TemplateToken[] {
  const tokens: TemplateToken[] = [];
  let at = 0;
  let trimNext = false;
  while (at < source.length) {
    const open = source.indexOf("{{", at);
    const raw = open === -1 ? source.slice(at) : source.slice(at, open);
    const trimsBefore = open !== -1 && /^-[ \t\r\n]/.test(source.slice(open + 2, open + 4));
    const start = trimNext ? raw.replace(/^[ \t\r\n]+/, "") : raw;
    const text = trimsBefore ? start.replace(/[ \t\r\n]+$/, "") : start;
    if (text !== "") tokens.push({ kind: "text", text, at });
    if (open === -1) break;
    const inner = open + 2 + (trimsBefore ? 1 : 0);
    const comment = /[ \t\r\n]*\/\*/y;
    comment.lastIndex = inner;
    if (comment.test(source)) {
      const { end, trims } = passComment(source, inner);
      at = end;
      trimNext = trims;
      continue;
    }
    tokens.push({ kind: "open", text: "{{", at: open });
    const { end, trims } = lexAction(source, inner, tokens);
    at = end;
    trimNext = trims;
  }
  tokens.push({ kind: "end", text: "", at: source.length });
  return tokens;
}

function passComment(source: string, from: number): { end: number; trims: boolean } {
  const close = source.indexOf("*/", from);
  if (close === -1) throw new TemplateError(`${formatPosition(source, from)}: unclosed comment`);
  const tail = /[ \t\r\n]*(-?)\}\}/y;
  tail.lastIndex = close + 2;
  const match = tail.exec(source);
  if (match === null)
    throw new TemplateError(
      `${formatPosition(source, close)}: comment ends before closing delimiter`,
    );
  return { end: tail.lastIndex, trims: match[1] === "-" };
}

function lexAction(
  source: string,
  from: number,
  tokens: TemplateToken[],
): { end: number; trims: boolean } {
  let at = from;
  for (;;) {
    const trimming = /[ \t\r\n]+-\}\}/y;
    trimming.lastIndex = at;
    const trims = trimming.test(source);
    if (trims || source.startsWith("}}", at)) {
      tokens.push({ kind: "close", text: "}}", at });
      return { end: trims ? trimming.lastIndex : at + 2, trims };
    }
    const token = nextToken(source, at);
    if (token === undefined)
      throw new TemplateError(
        at >= source.length
          ? `${formatPosition(source, from)}: unclosed action`
          : `${formatPosition(source, at)}: unexpected "${String.fromCodePoint(source.codePointAt(at) ?? 0)}" in action`,
      );
    tokens.push(token);
    at += token.text.length;
  }
}

function nextToken(source: string, at: number): TemplateToken | undefined {
  for (const [kind, pattern] of inside) {
    pattern.lastIndex = at;
    const match = pattern.exec(source);
    if (match === null) continue;
    // "+" and "-" only begin a number; ".5" is a number, ".a" is a field.
    return { kind, text: match[0], at };
  }
  return undefined;
}

/** The position in the source, as line and column from 1. */
export function formatPosition(source: string, at: number): string {
  let line = 1;
  let lineStart = 0;
  for (;;) {
    const next = source.indexOf("\n", lineStart) + 1;
    if (next === 0 || next > at) return `line ${line}, column ${at - lineStart + 1}`;
    lineStart = next;
    line++;
  }
}

/* Go's literals: quoted and raw strings, characters, numbers. An integer is a bigint, because Go's int is not a float64. */

const simple: Readonly<Record<string, string>> = {
  a: "\u0007",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
  "'": "'",
  '"': '"',
};

export function readString(text: string): string {
  if (text.startsWith("`")) return text.slice(1, -1).replaceAll("\r", "");
  return unescape(text.slice(1, -1));
}

export function readChar(text: string): bigint {
  return BigInt(unescape(text.slice(1, -1)).codePointAt(0) ?? 0);
}

function unescape(text: string): string {
  return text.replace(
    /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.))/gs,
    (whole, x?: string, u?: string, wide?: string, octal?: string, one?: string) => {
      const hex = x ?? u ?? wide;
      if (hex !== undefined) return fromCode(Number.parseInt(hex, 16), whole);
      if (octal !== undefined) return fromCode(Number.parseInt(octal, 8), whole);
      const found = simple[one ?? ""];
      if (found === undefined) throw new TemplateError(`invalid escape ${whole} in a string`);
      return found;
    },
  );
}

function fromCode(code: number, whole: string): string {
  if (code > 0x10_ff_ff) throw new TemplateError(`invalid escape ${whole} in a string`);
  return String.fromCodePoint(code);
}

export function readNumber(text: string): number | bigint | undefined {
  const plain = text.replaceAll("_", "");
  const sign = plain.startsWith("-") ? -1n : 1n;
  const digits = plain.replace(/^[+-]/, "");
  if (/^0[xXbBoO]/.test(digits)) return sign * BigInt(digits.toLowerCase());
  if (/^0[0-7]+$/.test(digits)) return sign * BigInt(`0o${digits.slice(1)}`);
  if (/^[0-9]+$/.test(digits)) return sign * BigInt(digits);
  const value = Number(plain);
  return Number.isNaN(value) ? undefined : value;
}

export type TemplateOperand =
  | { readonly kind: "dot" }
  | { readonly kind: "nil" }
  | { readonly kind: "literal"; readonly value: string | number | bigint | boolean }
  | { readonly kind: "variable"; readonly name: string }
  | { readonly kind: "function"; readonly name: string }
  | { readonly kind: "pipeline"; readonly pipeline: TemplatePipeline };

/** An operand and the fields after it: `$x.Labels.job`, `(index . 0).Value`, `.A.B`. */
export interface Term {
  readonly operand: TemplateOperand;
  readonly fields: readonly string[];
  readonly at: string;
}

export type Command = readonly [Term, ...Term[]];

export interface TemplatePipeline {
  readonly declares: readonly string[];
  /** `=` sets an existing variable, `:=` declares one. */
  readonly assigns: boolean;
  readonly commands: readonly Command[];
}

export type TemplateNode =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "print"; readonly pipeline: TemplatePipeline }
  | {
      readonly kind: "if" | "with" | "range";
      readonly pipeline: TemplatePipeline;
      readonly body: readonly TemplateNode[];
      readonly otherwise: readonly TemplateNode[];
    }
  | {
      readonly kind: "template";
      readonly name: string;
      readonly pipeline: TemplatePipeline | undefined;
      readonly at: string;
    }
  | { readonly kind: "break" }
  | { readonly kind: "continue" };
