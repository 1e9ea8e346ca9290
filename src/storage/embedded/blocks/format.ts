/**
 * The parts of a block file, in file order. All numbers are little-endian; each page and section has a compression method.
 *
 *   header, 16 bytes:  "gpulseBk", u32 version = 1, u32 0
 *   pages:             columns one after another (codec/encode.ts), about 64 KiB before compression
 *   timebases section: per timebase: varint samples, varint first timestamp, varint last - first, varint bytes, then its column
 *   directory section: per page: varint columns; then per column in page order:
 *                      zigzag-varint ref - ref before, zigzag-varint timebase - timebase before, varint bytes
 *   page table:        per page: u8 method, varint bytes in the file, varint bytes before compression, u32 CRC-32 of the bytes in the file
 *   footer, 144 bytes: f64 block number, f64 level, f64 earliest timestamp, f64 latest timestamp, f64 samples,
 *                      u32 series, u32 pages, u32 timebases, u32 0,
 *                      3 x section (f64 offset, u32 bytes in the file, u32 bytes before, u32 CRC-32, u32 method)
 *                      for timebases, directory, page table; u32 0, u32 CRC-32 of the footer so far, "gpulseBe"
 *
 * Methods: 0 uncompressed, 1 deflate without a header, 2 Brotli.
 */
import zlib from "node:zlib";

export const headerBytes = 16;
export const footerBytes = 56 + 3 * 24 + 8 + 8;
export const blockMagic = "gpulseBk";
const blockEnd = "gpulseBe";
export const blockVersion = 1;
export const pageBytes = 65_536;

export interface Section {
  readonly offset: number;
  readonly storedBytes: number;
  readonly plainBytes: number;
  readonly crc: number;
  readonly method: number;
}

export interface Footer {
  readonly id: number;
  readonly level: number;
  readonly minTimeMs: number;
  readonly maxTimeMs: number;
  readonly samples: number;
  readonly series: number;
  readonly pages: number;
  readonly timebases: number;
  readonly sections: readonly [timebases: Section, directory: Section, pageTable: Section];
}

export class BlockDamagedError extends Error {
  override readonly name = "BlockDamagedError";
}

export function writeHeader(): Buffer {
  const header = Buffer.alloc(headerBytes);
  header.write(blockMagic, 0, "latin1");
  header.writeUInt32LE(blockVersion, 8);
  return header;
}

export function writeFooter(footer: Footer): Buffer {
  const bytes = Buffer.alloc(footerBytes);
  const floats = [footer.id, footer.level, footer.minTimeMs, footer.maxTimeMs, footer.samples];
  floats.forEach((value, i) => bytes.writeDoubleLE(value, i * 8));
  [footer.series, footer.pages, footer.timebases].forEach((value, i) =>
    bytes.writeUInt32LE(value, 40 + i * 4),
  );
  footer.sections.forEach((section, i) => {
    const at = 56 + i * 24;
    bytes.writeDoubleLE(section.offset, at);
    bytes.writeUInt32LE(section.storedBytes, at + 8);
    bytes.writeUInt32LE(section.plainBytes, at + 12);
    bytes.writeUInt32LE(section.crc, at + 16);
    bytes.writeUInt32LE(section.method, at + 20);
  });
  bytes.writeUInt32LE(zlib.crc32(bytes.subarray(0, footerBytes - 12)), footerBytes - 12);
  bytes.write(blockEnd, footerBytes - 8, "latin1");
  return bytes;
}

export function readFooter(bytes: Buffer): Footer {
  if (bytes.length !== footerBytes || bytes.toString("latin1", footerBytes - 8) !== blockEnd)
    throw new BlockDamagedError("it does not end as a block does");
  if (bytes.readUInt32LE(footerBytes - 12) !== zlib.crc32(bytes.subarray(0, footerBytes - 12)))
    throw new BlockDamagedError("the checksum of its footer is wrong");
  const section = (i: number): Section => {
    const at = 56 + i * 24;
    return {
      offset: bytes.readDoubleLE(at),
      storedBytes: bytes.readUInt32LE(at + 8),
      plainBytes: bytes.readUInt32LE(at + 12),
      crc: bytes.readUInt32LE(at + 16),
      method: bytes.readUInt32LE(at + 20),
    };
  };
  return {
    id: bytes.readDoubleLE(0),
    level: bytes.readDoubleLE(8),
    minTimeMs: bytes.readDoubleLE(16),
    maxTimeMs: bytes.readDoubleLE(24),
    samples: bytes.readDoubleLE(32),
    series: bytes.readUInt32LE(40),
    pages: bytes.readUInt32LE(44),
    timebases: bytes.readUInt32LE(48),
    sections: [section(0), section(1), section(2)],
  };
}
