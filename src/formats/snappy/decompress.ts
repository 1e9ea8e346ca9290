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

/** No element makes more than 64 bytes out of three: a length beyond that is a lie, told before any memory is taken. */
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

/** @throws SnappyError for input that is no snappy block, or one larger than allowed. */
export function decompressSnappy(input: Uint8Array, maxBytes: number): Uint8Array {
  const { length, start } = snappyLength(input, maxBytes);
  let position = start;
  const output = new Uint8Array(length);
  let written = 0;
  while (position < input.length) {
    const tag = input[position++] ?? 0;
    if ((tag & 3) === 0) {
      let size = tag >> 2;
      if (size >= 60) {
        const bytes = size - 59;
        size = littleEndian(input, position, bytes);
        position += bytes;
      }
      size += 1;
      if (position + size > input.length || written + size > length)
        throw new SnappyError("a literal runs past its end");
      if (size > longBytes) output.set(input.subarray(position, position + size), written);
      else for (let i = 0; i < size; i++) output[written + i] = input[position + i] as number;
      position += size;
      written += size;
      continue;
    }
    let size: number;
    let offset: number;
    if ((tag & 3) === 1) {
      size = ((tag >> 2) & 7) + 4;
      offset = ((tag >> 5) << 8) | littleEndian(input, position, 1);
      position += 1;
    } else {
      const bytes = (tag & 3) === 2 ? 2 : 4;
      size = (tag >> 2) + 1;
      offset = littleEndian(input, position, bytes);
      position += bytes;
    }
    if (offset === 0 || offset > written || written + size > length)
      throw new SnappyError("a copy points outside the data");
    if (offset >= size && size > longBytes)
      output.copyWithin(written, written - offset, written - offset + size);
    // An overlapping copy repeats what it has just written: byte by byte is the meaning, not a slow way.
    else
      for (let index = 0; index < size; index++)
        output[written + index] = output[written + index - offset] as number;
    written += size;
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
