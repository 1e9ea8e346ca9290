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
