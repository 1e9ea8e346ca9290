/** Reads zstd where Node cannot. Writing it needs a Node that can (22.15 and later): nothing we have writes it. */
import zlib from "node:zlib";

export const canWriteZstd = (): boolean => "zstdCompressSync" in zlib;

export async function zstdDecompress(): Promise<(data: Uint8Array) => Buffer> {
  const { decompressZstd } = await import("hyparquet-compressors");
  return (data) => {
    const read = decompressZstd(data);
    return Buffer.from(read.buffer, read.byteOffset, read.byteLength);
  };
}
