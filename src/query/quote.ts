/** PromQL string literals with Go's escapes, in both directions. Not for JSON. */
import { Buffer, isUtf8 } from "node:buffer";

const simple: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  f: 12,
  n: 10,
  r: 13,
  t: 9,
  v: 11,
  "\\": 92,
  "'": 39,
  '"': 34,
};

/** Returns the text of a literal with its escapes resolved. A byte that is invalid UTF-8 becomes U+DC00 + byte. */
export function unquote(literal: string): string {
  const body = literal.slice(1, -1);
  if (literal.startsWith("`") || !body.includes("\\")) return body;
  const parts: Buffer[] = [];
  let at = 0;
  while (at < body.length) {
    const next = body.indexOf("\\", at);
    if (next < 0) {
      parts.push(Buffer.from(body.slice(at)));
      break;
    }
    parts.push(Buffer.from(body.slice(at, next)));
    const escape = readEscape(body, next + 1);
    parts.push(escape.bytes);
    at = escape.end;
  }
  const bytes = Buffer.concat(parts);
  return isUtf8(bytes) ? bytes.toString("utf8") : keepBytes(bytes);
}

function keepBytes(bytes: Buffer): string {
  let out = "";
  for (let at = 0; at < bytes.length;) {
    let length = 4;
    while (
      length > 0 &&
      !(at + length <= bytes.length && isOneRune(bytes.subarray(at, at + length)))
    )
      length--;
    out +=
      length === 0
        ? String.fromCharCode(0xdc00 + (bytes[at] ?? 0))
        : bytes.toString("utf8", at, at + length);
    at += Math.max(1, length);
  }
  return out;
}

function isOneRune(bytes: Buffer): boolean {
  return isUtf8(bytes) && Array.from(bytes.toString("utf8")).length === 1;
}

/** Accepts any non-empty UTF-8 text. */
export function isLabelName(name: string): boolean {
  return name !== "" && !/[\uD800-\uDFFF]/u.test(name);
}

function readEscape(body: string, at: number): { bytes: Buffer; end: number } {
  const letter = body[at] ?? "";
  const byte = simple[letter];
  if (byte !== undefined) return { bytes: Buffer.from([byte]), end: at + 1 };
  const digits = letter === "x" ? 2 : letter === "u" ? 4 : letter === "U" ? 8 : 3;
  const start = digits === 3 ? at : at + 1;
  const code = Number.parseInt(body.slice(start, start + digits), digits === 3 ? 8 : 16);
  const bytes = digits <= 3 ? Buffer.from([code & 255]) : Buffer.from(String.fromCodePoint(code));
  return { bytes, end: start + digits };
}

const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;

/** Quotes a text like Go's %q. */
export function quote(text: string): string {
  let out = '"';
  for (const char of text) {
    const code = char.codePointAt(0) ?? 0;
    if (char === '"' || char === "\\") out += `\\${char}`;
    else if (printable.test(char)) out += char;
    else if (char === "\n") out += "\\n";
    else if (char === "\t") out += "\\t";
    else if (char === "\r") out += "\\r";
    else if (code === 7) out += "\\a";
    else if (code === 8) out += "\\b";
    else if (code === 12) out += "\\f";
    else if (code === 11) out += "\\v";
    else if (code >= 0xdc80 && code < 0xdd00) out += `\\x${(code - 0xdc00).toString(16)}`;
    else if (code < 128) out += `\\x${code.toString(16).padStart(2, "0")}`;
    else if (code < 65536) out += `\\u${code.toString(16).padStart(4, "0")}`;
    else out += `\\U${code.toString(16).padStart(8, "0")}`;
  }
  return `${out}"`;
}
