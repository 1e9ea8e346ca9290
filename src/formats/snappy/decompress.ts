/**
 * Snappy's block format, decoded with bounds checks: a wrong length, offset or literal ends in an error, never in a hang, a read
 * past the input or more memory than allowed. Our own implementation, because it is on the ingest path: whole runs are copied at
 * once.
 *
 *   varint uncompressed length, then elements by the low two bits of a tag byte:
 *   00 literal: length-1 in the high 6 bits, or (60..63) in the next 1..4 bytes, then the bytes
 *   01 copy: length 4..11 in bits 2..4, offset in bits 5..7 and the next byte
 *   10 copy: length-1 in the high 6 bits, offset in 2 bytes    11 copy: the same with 4 bytes
 */

export class SnappyError extends Error {}

/** Up to this length a copy loop is faster than the native call. */
const longBytes = 32;

/** Copies with at least this offset move this many bytes at a time. */
const stride = 8;

/** No element expands three bytes to more than 64: a larger length is invalid, and rejected before memory is allocated. */
const mostPerByte = 64 / 3;

/**
 * The announced uncompressed length, and where the elements begin.
 * @throws SnappyError if the length is impossible, or more than allowed.
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
 * @param room the result is written here if it fits
 * @throws SnappyError if the input is not a snappy block, or larger than allowed.
 */
export function decompressSnappy(
  input: Uint8Array,
  maxBytes: number,
  room?: Uint8Array,
): Uint8Array {
  const { length, start } = snappyLength(input, maxBytes);
  let position = start;
  // Not zeroed: it is returned only after every byte has been written.
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
      // Two words at a time, up to seven bytes too far: later elements overwrite those.
      for (let to = written; to < end; to += stride) {
        const from = to - offset;
        words.setInt32(to, words.getInt32(from, true), true);
        words.setInt32(to + 4, words.getInt32(from + 4, true), true);
      }
    } else {
      // A copy that overlaps itself repeats the bytes it has just written, so it must run byte by byte.
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
