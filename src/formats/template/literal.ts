/** Go's literals: quoted and raw strings, characters, numbers. A whole number is a bigint, as Go's int is no float64. */
import { TemplateError } from "./lex.ts";

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
