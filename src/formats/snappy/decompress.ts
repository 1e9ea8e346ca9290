/**
 * Snappy's block format, decoded within bounds: a lying length, offset or literal ends in an error, never in a hang,
 * a read past the input or more memory than allowed. Ours because it is on the ingest path: whole runs are copied at once.
 *
 *   varint uncompressed length, then elements by the low two bits of a tag byte:
 *   00 literal: length-1 in the high 6 bits, or (60..63) in the next 1..4 bytes, then the bytes
 *   01 copy: length 4..11 in bits 2..4, offset in bits 5..7 and the next byte
 *   10 copy: length-1 in the high 6 bits, offset in 2 bytes    11 copy: the same with 4 bytes
 */

export class SnappyError extends Error {}

/** A run up to this long is copied here sooner than the call that copies it has begun. */
const longBytes = 32;

/** A copy from no nearer than this goes so many bytes at a time. */
const stride = 8;

/** No element expands three bytes to more than 64: a larger length is invalid, rejected before memory is allocated. */
const mostPerByte = 64 / 3;

/**
 * How many bytes it says to unpack to, and where the elements begin.
 * @throws SnappyError where that is more than it can be, or more than allowed.
 */
export function snappyLength(
  input: Uint8Array,
  maxBytes: number,
): { readonly length: number; readonly start: number } {
  let start = 0;
  let length = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = input[start++];
    if (byte === undefined || shift > 28) throw new SnappyError("its length is cut or too long");
    length += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) break;
  }
  if (length > maxBytes)
    throw new SnappyError(`it is ${length} bytes uncompressed, more than the ${maxBytes} allowed`);
  if (length > input.length * mostPerByte)
    throw new SnappyError(`it cannot be ${length} bytes uncompressed`);
  return { length, start };
}

/**
 * @param room where the result is written if it fits
 * @throws SnappyError for input that is no snappy block, or one larger than allowed.
 */
export function decompressSnappy(
  input: Uint8Array,
  maxBytes: number,
  room?: Uint8Array,
): Uint8Array {
  const { length, start } = snappyLength(input, maxBytes);
  let position = start;
  // Not zeroed: it is handed out only when every byte of it has been written.
  const output =
    room === undefined || room.length < length
      ? Buffer.allocUnsafeSlow(length)
      : room.subarray(0, length);
  const words = new DataView(output.buffer, output.byteOffset, length);
  const stridesEnd = length - stride;
  const inputEnd = input.length;
  let written = 0;
  while (position < inputEnd) {
    const tag = input[position++] as number;
    const kind = tag & 3;
    if (kind === 0) {
      let size = tag >> 2;
      if (size >= 60) {
        const bytes = size - 59;
        size = littleEndian(input, position, bytes);
        position += bytes;
      }
      size += 1;
      if (position + size > inputEnd || written + size > length)
        throw new SnappyError("a literal runs past its end");
      if (size > longBytes) output.set(input.subarray(position, position + size), written);
      else for (let i = 0; i < size; i++) output[written + i] = input[position + i] as number;
      position += size;
      written += size;
      continue;
    }
    let size: number;
    let offset: number;
    if (kind === 2 && position + 2 <= inputEnd) {
      size = (tag >> 2) + 1;
      offset = (input[position] as number) | ((input[position + 1] as number) << 8);
      position += 2;
    } else if (kind === 1) {
      size = ((tag >> 2) & 7) + 4;
      offset = ((tag >> 5) << 8) | littleEndian(input, position, 1);
      position += 1;
    } else {
      const bytes = kind === 2 ? 2 : 4;
      size = (tag >> 2) + 1;
      offset = littleEndian(input, position, bytes);
      position += bytes;
    }
    const end = written + size;
    if (offset === 0 || offset > written || end > length)
      throw new SnappyError("a copy points outside the data");
    if (offset >= stride && end <= stridesEnd) {
      // Two words at a time, up to seven bytes further than asked for: what follows writes over them.
      for (let to = written; to < end; to += stride) {
        const from = to - offset;
        words.setInt32(to, words.getInt32(from, true), true);
        words.setInt32(to + 4, words.getInt32(from + 4, true), true);
      }
    } else {
      // A copy that overlaps itself repeats what it has just written: byte by byte is the meaning, not a slow way.
      for (let to = written; to < end; to++) output[to] = output[to - offset] as number;
    }
    written = end;
  }
  if (written !== length) throw new SnappyError(`it ends after ${written} of ${length} bytes`);
  return output;
}

function littleEndian(input: Uint8Array, position: number, bytes: number): number {
  if (position + bytes > input.length) throw new SnappyError("it is cut short");
  let value = 0;
  for (let index = bytes - 1; index >= 0; index--)
    value = value * 256 + (input[position + index] ?? 0);
  return value;
}
