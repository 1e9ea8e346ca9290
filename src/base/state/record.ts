/**
 * Records in a file, each with its checksum, so that a record damaged by a crash or a bad disk is found and the others stay readable.
 *
 *   u32 magic "gRec", u32 payload bytes, u32 CRC-32 of (sequence, payload), u32 sequence; payload; zeros to a multiple of 8
 *
 * Sequence numbers count up by one through all files of a log; a gap is the number of lost records. Zeros end a file.
 */
import zlib from "node:zlib";

export const frameBytes = 16;
const magic = 0x63655267;

export const framedBytes = (payloadBytes: number): number =>
  frameBytes + Math.ceil(payloadBytes / 8) * 8;

/** Frames a payload that is already at `at + frameBytes`. The bytes up to the next multiple of 8 are set to zero. */
export function sealFrame(
  bytes: Buffer,
  at: number,
  payloadBytes: number,
  sequence: number,
): number {
  const end = at + framedBytes(payloadBytes);
  bytes.fill(0, at + frameBytes + payloadBytes, end);
  bytes.writeUInt32LE(magic, at);
  bytes.writeUInt32LE(payloadBytes, at + 4);
  bytes.writeUInt32LE(sequence, at + 12);
  bytes.writeUInt32LE(zlib.crc32(bytes.subarray(at + 12, at + frameBytes + payloadBytes)), at + 8);
  return end;
}

export interface ScannedRecord {
  readonly payload: Buffer;
  readonly sequence: number;
}

export interface Scan {
  /** Ranges between or after records that hold something other than a record. */
  readonly damaged: readonly { readonly at: number; readonly bytes: number }[];
  /** Where the last good record ended. */
  readonly end: number;
}

/**
 * Calls `each` with every good record of a file's bytes, whatever lies between them.
 *
 * @param usedBytes everything after these is zeros
 */
export function scanFrames(
  bytes: Buffer,
  each: (record: ScannedRecord) => void,
  usedBytes = bytes.length,
): Scan {
  const damaged: { at: number; bytes: number }[] = [];
  const tail = lastNonZero(bytes.subarray(0, usedBytes));
  let [at, end] = [0, 0];
  while (at <= tail && at + frameBytes <= bytes.length) {
    const record = readFrame(bytes, at);
    if (record === undefined) {
      at += 8;
      continue;
    }
    if (at > end) damaged.push({ at: end, bytes: at - end });
    each(record);
    at += framedBytes(record.payload.length);
    end = at;
  }
  if (tail >= end) damaged.push({ at: end, bytes: tail + 1 - end });
  return { damaged, end };
}

function readFrame(bytes: Buffer, at: number): ScannedRecord | undefined {
  if (bytes.readUInt32LE(at) !== magic) return undefined;
  const length = bytes.readUInt32LE(at + 4);
  if (at + framedBytes(length) > bytes.length) return undefined;
  const crc = zlib.crc32(bytes.subarray(at + 12, at + frameBytes + length));
  if (crc !== bytes.readUInt32LE(at + 8)) return undefined;
  return {
    payload: bytes.subarray(at + frameBytes, at + frameBytes + length),
    sequence: bytes.readUInt32LE(at + 12),
  };
}

/** Compares whole blocks: a byte loop over preallocated megabytes takes 20 ms before it is compiled. */
const zeros = Buffer.alloc(4_096);

function lastNonZero(bytes: Buffer): number {
  let end = bytes.length;
  while (end > 0) {
    const length = Math.min(zeros.length, end);
    if (bytes.compare(zeros, 0, length, end - length, end) !== 0) break;
    end -= length;
  }
  while (end > 0 && bytes[end - 1] === 0) end--;
  return end - 1;
}
