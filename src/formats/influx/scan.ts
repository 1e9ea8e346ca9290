/**
 * Finds the parts of Influx's line protocol in bytes, without making texts of them.
 *
 *   measurement[,tag=value…] field=value[,field=value…] [time]
 *
 * A backslash keeps the next comma, equals sign or space from being one; in a quoted value it keeps a quote, and a quoted
 * value may go over lines.
 */

export const byteOf = {
  newline: 0x0a,
  carriage: 0x0d,
  space: 0x20,
  quote: 0x22,
  hash: 0x23,
  comma: 0x2c,
  equals: 0x3d,
  backslash: 0x5c,
} as const;

/** A line that is not understood; the others are. */
export class LineError extends Error {}

/** Where the first of two bytes stands that no backslash precedes; at the end of the line where neither does. */
export function findPlain(
  bytes: Uint8Array,
  start: number,
  end: number,
  wanted: number,
  other: number,
): number {
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    // It keeps no line from ending.
    if (byte === byteOf.backslash && bytes[at + 1] !== byteOf.newline) at++;
    else if (byte === wanted || byte === other || byte === byteOf.newline) return at;
  }
  return end;
}

/** Behind the quote that ends a quoted value. */
export function quotedEnd(bytes: Uint8Array, start: number, end: number): number {
  for (let at = start + 1; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte === byteOf.backslash) at++;
    else if (byte === byteOf.quote) return at + 1;
  }
  throw new LineError("a quoted value has no end");
}

/** The text with its escapes undone. */
export function plainText(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString("utf8", start, end);
  return text.includes("\\") ? text.replace(/\\([,= \\])/g, "$1") : text;
}

/* Numbers of Influx's line protocol, read from bytes: values as floats, times as milliseconds whatever their precision. */

const zero = 0x30;
const nine = 0x39;
const dot = 0x2e;
const minus = 0x2d;
/** Powers of ten that a double holds exactly: a quotient by one of them is rounded once, as it should be. */
const powers = Float64Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));
const decimal = /^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/;

/** @returns undefined where the bytes are no number. */
export function readFloat(bytes: Buffer, start: number, end: number): number | undefined {
  const negative = bytes[start] === minus;
  let digits = 0;
  let fraction = -1;
  let at = negative ? start + 1 : start;
  // Fifteen digits and a dot are always exact.
  if (end - at > 16 || at === end) return readAnyFloat(bytes, start, end);
  for (; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte >= zero && byte <= nine) {
      digits = digits * 10 + (byte - zero);
      if (fraction >= 0) fraction++;
    } else if (byte === dot && fraction < 0) fraction = 0;
    else return readAnyFloat(bytes, start, end);
  }
  // A dot alone is no number, and sixteen digits may be more than a double counts to.
  if (digits > Number.MAX_SAFE_INTEGER || (digits === 0 && fraction === 0))
    return readAnyFloat(bytes, start, end);
  const value = fraction > 0 ? digits / (powers[fraction] as number) : digits;
  return negative ? -value : value;
}

function readAnyFloat(bytes: Buffer, start: number, end: number): number | undefined {
  const text = bytes.toString("latin1", start, end);
  if (!decimal.test(text)) return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

/** A whole number with its sign; beyond 2^53 it is rounded as a float is. */
export function readInteger(bytes: Buffer, start: number, end: number): number | undefined {
  for (let at = bytes[start] === minus ? start + 1 : start; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte < zero || byte > nine) return undefined;
  }
  return readFloat(bytes, start, end);
}

export const precisions = {
  ns: 1e-6,
  n: 1e-6,
  us: 1e-3,
  u: 1e-3,
  µ: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
} as const;

/** Nanoseconds do not fit in a double: what is finer than a millisecond is cut off as digits, before it is a number. */
export function readTimeMs(
  bytes: Buffer,
  start: number,
  end: number,
  unitMs: number,
): number | undefined {
  if (readInteger(bytes, start, end) === undefined) return undefined;
  const cut = unitMs === 1e-6 ? 6 : unitMs === 1e-3 ? 3 : 0;
  if (cut === 0) {
    const timeMs = (readInteger(bytes, start, end) as number) * unitMs;
    return Number.isSafeInteger(timeMs) ? timeMs : undefined;
  }
  const sign = bytes[start] === minus ? 1 : 0;
  if (end - start - sign <= cut) return 0;
  const timeMs = readInteger(bytes, start, end - cut) as number;
  return Number.isSafeInteger(timeMs) ? timeMs : undefined;
}
