/**
 * Varints: integers of up to 53 bits, seven bits per byte, least significant first; the top bit is set if more bytes
 * follow.
 */

export interface ByteCursor {
  at: number;
}

export function writeVarint(out: Uint8Array, at: number, value: number): number {
  let rest = value;
  let place = at;
  // Bit operations are 32 bits wide, so division splits off the bits above them first.
  while (rest >= 0x80000000) {
    out[place++] = (rest % 128) | 0x80;
    rest = Math.floor(rest / 128);
  }
  while (rest >= 0x80) {
    out[place++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  out[place++] = rest;
  return place;
}

export function readVarint(bytes: Uint8Array, cursor: ByteCursor): number {
  // Fast path: most varints have one or two bytes.
  const first = bytes[cursor.at] as number;
  if (first < 0x80) {
    cursor.at++;
    return first;
  }
  const second = bytes[cursor.at + 1] as number;
  if (second < 0x80) {
    cursor.at += 2;
    return (first & 0x7f) | (second << 7);
  }
  let value = 0;
  let scale = 1;
  for (let length = 0; length < 8; length++) {
    const byte = bytes[cursor.at++];
    if (byte === undefined) throw new RangeError("a number runs past the end");
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return value;
    scale *= 128;
  }
  throw new RangeError("a number is longer than eight bytes");
}

/** Maps signed to unsigned numbers: 0, -1, 1, -2 become 0, 1, 2, 3. */
export const zigzag = (value: number): number => (value < 0 ? -2 * value - 1 : 2 * value);
export const unzigzag = (value: number): number => (value % 2 === 0 ? value / 2 : -(value + 1) / 2);
