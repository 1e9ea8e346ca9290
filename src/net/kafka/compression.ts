/**
 * Reads snappy in the framing of Java clients, which the Kafka client does not support: blocks in a frame of their own.
 *
 *   82 "SNAPPY" 00 · version int32 · compatible-with int32 · (length int32 · block)*      all big-endian
 */
import zlib from "node:zlib";

const mark = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00]);
const headBytes = mark.length + 8;

export function framedSnappy(block: (data: Buffer) => Buffer): (data: Buffer) => Buffer {
  return (data) => {
    if (data.length < headBytes || !data.subarray(0, mark.length).equals(mark)) return block(data);
    const parts: Buffer[] = [];
    for (let at = headBytes; at < data.length;) {
      if (at + 4 > data.length) throw new RangeError("a snappy frame ends too early");
      const length = data.readInt32BE(at);
      const end = at + 4 + length;
      if (length < 0 || end > data.length) throw new RangeError("a snappy frame ends too early");
      parts.push(block(data.subarray(at + 4, end)));
      at = end;
    }
    return Buffer.concat(parts);
  };
}

/* Reads zstd where Node cannot. Writing it needs Node 22.15 or later: no dependency can write it. */

export const canWriteZstd = (): boolean => "zstdCompressSync" in zlib;

export async function zstdDecompress(): Promise<(data: Uint8Array) => Buffer> {
  const { decompressZstd } = await import("hyparquet-compressors");
  return (data) => {
    const read = decompressZstd(data);
    return Buffer.from(read.buffer, read.byteOffset, read.byteLength);
  };
}
