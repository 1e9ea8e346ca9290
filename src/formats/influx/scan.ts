/**
 * Finds the parts of Influx's line protocol in bytes, without creating strings.
 *
 *   measurement[,tag=value…] field=value[,field=value…] [time]
 *
 * A backslash escapes the next comma, equals sign or space; in a quoted value it escapes a quote, and a quoted value may span
 * several lines.
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

/** An invalid line; the other lines are still read. */
export class LineError extends Error {}

/** The position of the first of two unescaped bytes; the end of the line if there is neither. */
export function findPlain(
  bytes: Uint8Array,
  start: number,
  end: number,
  wanted: number,
  other: number,
): number {
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    // A backslash does not escape a line break.
    if (byte === byteOf.backslash && bytes[at + 1] !== byteOf.newline) at++;
    else if (byte === wanted || byte === other || byte === byteOf.newline) return at;
  }
  return end;
}

/** The position after the closing quote of a quoted value. */
export function quotedEnd(bytes: Uint8Array, start: number, end: number): number {
  for (let at = start + 1; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte === byteOf.backslash) at++;
    else if (byte === byteOf.quote) return at + 1;
  }
  throw new LineError("a quoted value has no end");
}

/** The text, unescaped. */
export function plainText(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString("utf8", start, end);
  return text.includes("\\") ? text.replace(/\\([,= \\])/g, "$1") : text;
}

/* Numbers of Influx's line protocol, parsed from bytes: values as floats, times as milliseconds regardless of their precision. */

const zero = 0x30;
const nine = 0x39;
const dot = 0x2e;
const minus = 0x2d;
/** Powers of ten that a double holds exactly: a division by one of them is rounded correctly, once. */
const powers = Float64Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));
const decimal = /^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/;

/** @returns undefined if the bytes are not a number. */
export function readFloat(bytes: Buffer, start: number, end: number): number | undefined {
  const negative = bytes[start] === minus;
  let digits = 0;
  let fraction = -1;
  let at = negative ? start + 1 : start;
  // Up to fifteen digits and a dot are always exact.
  if (end - at > 16 || at === end) return readAnyFloat(bytes, start, end);
  for (; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte >= zero && byte <= nine) {
      digits = digits * 10 + (byte - zero);
      if (fraction >= 0) fraction++;
    } else if (byte === dot && fraction < 0) fraction = 0;
    else return readAnyFloat(bytes, start, end);
  }
  // A dot alone is not a number, and sixteen digits may exceed the exact integers of a double.
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

/** A signed integer; beyond 2^53 it is rounded like a float. */
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

/** Nanoseconds do not fit in a double: digits finer than a millisecond are cut off before the conversion. */
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
