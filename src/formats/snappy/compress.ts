/**
 * Snappy's block format (see decompress.ts), written in one pass. Our own implementation, because every sent sample passes through
 * it: fragments of 64 KiB keep positions in the hash table at 16 bits, and incompressible data is skipped in growing steps.
 */

const fragmentBytes = 65_536;
const tableBits = 14;
/** With fewer bytes left there is nothing to gain. */
const tailBytes = 15;

export function compressSnappy(input: Uint8Array): Buffer {
  const out = Buffer.allocUnsafe(32 + input.length + Math.ceil(input.length / 6));
  let length = writeLength(out, input.length);
  const table = new Uint16Array(2 ** tableBits);
  for (let start = 0; start < input.length; start += fragmentBytes) {
    if (start > 0) table.fill(0);
    const end = Math.min(input.length, start + fragmentBytes);
    length = compressFragment(input, start, end, out, length, table);
  }
  // Copies a small result, so that the large buffer is freed.
  return length * 2 < out.length ? Buffer.from(out.subarray(0, length)) : out.subarray(0, length);
}

function writeLength(out: Buffer, length: number): number {
  let [at, rest] = [0, length];
  while (rest >= 0x80) {
    out[at++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  out[at++] = rest;
  return at;
}

function compressFragment(
  input: Uint8Array,
  start: number,
  end: number,
  out: Buffer,
  outLength: number,
  table: Uint16Array,
): number {
  let written = outLength;
  let literalFrom = start;
  const limit = end - tailBytes;
  let at = start + 1;
  let misses = 32;
  while (at < limit) {
    const word = wordAt(input, at);
    const slot = Math.imul(word, 0x1e35_a7bd) >>> (32 - tableBits);
    const candidate = start + (table[slot] as number);
    table[slot] = at - start;
    if (input[candidate] !== (word & 0xff) || wordAt(input, candidate) !== word) {
      at += misses++ >>> 5;
      continue;
    }
    misses = 32;
    if (at > literalFrom) written = literal(input, literalFrom, at, out, written);
    let length = 4;
    while (at + length < end && input[at + length] === input[candidate + length]) length++;
    written = copy(at - candidate, length, out, written);
    at += length;
    literalFrom = at;
    if (at < limit) {
      // The end of a match is often the start of the next.
      const before = Math.imul(wordAt(input, at - 1), 0x1e35_a7bd) >>> (32 - tableBits);
      table[before] = at - 1 - start;
    }
  }
  return end > literalFrom ? literal(input, literalFrom, end, out, written) : written;
}

const wordAt = (input: Uint8Array, at: number): number =>
  (input[at] as number) |
  ((input[at + 1] as number) << 8) |
  ((input[at + 2] as number) << 16) |
  ((input[at + 3] as number) << 24);

function literal(input: Uint8Array, from: number, to: number, out: Buffer, at: number): number {
  const last = to - from - 1;
  let written = at;
  if (last < 60) out[written++] = last << 2;
  else if (last < 256) {
    out[written++] = 60 << 2;
    out[written++] = last;
  } else {
    out[written++] = 61 << 2;
    out[written++] = last & 0xff;
    out[written++] = last >>> 8;
  }
  if (last < 32) for (let i = from; i < to; i++) out[written++] = input[i] as number;
  else {
    out.set(input.subarray(from, to), written);
    written += to - from;
  }
  return written;
}

function copy(offset: number, wholeLength: number, out: Buffer, at: number): number {
  let written = at;
  let length = wholeLength;
  // A copy of 60 leaves at least 4 for the next one, the minimum of a short copy.
  while (length >= 68) {
    written = copyUpTo64(offset, 64, out, written);
    length -= 64;
  }
  if (length > 64) {
    written = copyUpTo64(offset, 60, out, written);
    length -= 60;
  }
  if (length >= 12 || offset >= 2_048) return copyUpTo64(offset, length, out, written);
  out[written++] = 1 | ((length - 4) << 2) | ((offset >>> 8) << 5);
  out[written++] = offset & 0xff;
  return written;
}

function copyUpTo64(offset: number, length: number, out: Buffer, at: number): number {
  out[at] = 2 | ((length - 1) << 2);
  out[at + 1] = offset & 0xff;
  out[at + 2] = offset >>> 8;
  return at + 3;
}
