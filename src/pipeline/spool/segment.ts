/**
 * The files that hold a spool's records. `NNNNNNNNNNNNNNNN.spool` contains framed records (state/record.ts) and is named
 * after the position of its first one. A record's frame sequence is the low 32 bits of its position. Payload:
 *
 * f64 time of the append in ms by the spool's trusted clock, u32 samples, u32 zero, then the record's bytes
 */
import { closeSync, fstatSync, openSync, readdirSync, readSync } from "node:fs";
import path from "node:path";
import { frameBytes, framedBytes, scanFrames, sealFrame } from "../../base/state/record.ts";

export interface SpoolRecord {
  /** Increases with every record; never reused within one folder. */
  readonly position: number;
  readonly timeMs: number;
  readonly samples: number;
  readonly bytes: Buffer;
}

/** The pending part of a segment, and its size on disk. */
export interface Segment {
  readonly first: number;
  diskBytes: number;
  /** Every record before this offset is acknowledged. */
  readFrom: number;
  records: number;
  samples: number;
  pendingBytes: number;
  oldestTimeMs: number;
  newestTimeMs: number;
}

const headerBytes = 16;
const pattern = /^(\d{16})\.spool$/;

export const segmentFile = (dir: string, first: number): string =>
  path.join(dir, `${String(first).padStart(16, "0")}.spool`);

export function listSegments(dir: string): number[] {
  return readdirSync(dir)
    .flatMap((file) => pattern.exec(file)?.[1] ?? [])
    .map(Number)
    .sort((left, right) => left - right);
}

export const newSegment = (first: number): Segment => ({
  first,
  diskBytes: 0,
  readFrom: 0,
  records: 0,
  samples: 0,
  pendingBytes: 0,
  oldestTimeMs: Infinity,
  newestTimeMs: -Infinity,
});

export const diskBytesOf = (bytes: number): number => framedBytes(headerBytes + bytes);

/** Frames one record at the start of `into` and returns its length; `into` has room for `diskBytesOf` bytes. */
export function encodeRecord(into: Buffer, record: SpoolRecord): number {
  into.writeDoubleLE(record.timeMs, frameBytes);
  into.writeUInt32LE(record.samples, frameBytes + 8);
  into.writeUInt32LE(0, frameBytes + 12);
  into.set(record.bytes, frameBytes + headerBytes);
  return sealFrame(into, 0, headerBytes + record.bytes.length, record.position % 2 ** 32);
}

export function addPending(segment: Segment, { timeMs, samples, bytes }: SpoolRecord): void {
  segment.records++;
  segment.samples += samples;
  segment.pendingBytes += diskBytesOf(bytes.length);
  segment.oldestTimeMs = Math.min(segment.oldestTimeMs, timeMs);
  segment.newestTimeMs = Math.max(segment.newestTimeMs, timeMs);
}

export function removePending(segment: Segment, { samples, bytes }: SpoolRecord): void {
  segment.records--;
  segment.samples -= samples;
  segment.pendingBytes -= diskBytesOf(bytes.length);
}

export interface SegmentContents {
  readonly records: SpoolRecord[];
  /** Offset after the last valid record. */
  readonly end: number;
  readonly sizeBytes: number;
  readonly damagedBytes: number;
  /** Number of records after the acknowledged ones that are known to be missing before or between valid ones. */
  readonly missing: number;
  /** The position after the last valid record; -1 if unknown. */
  readonly next: number;
}

/** Reads every valid record of a segment from this offset on. Throws if the file cannot be read at all. */
export function readSegment(
  dir: string,
  first: number,
  from: number,
  afterPosition: number,
): SegmentContents {
  const fd = openSync(segmentFile(dir, first), "r");
  try {
    const sizeBytes = fstatSync(fd).size;
    const bytes = Buffer.alloc(Math.max(0, sizeBytes - from));
    for (let done = 0; done < bytes.length;) {
      const got = readSync(fd, bytes, done, bytes.length - done, from + done);
      if (got === 0) break;
      done += got;
    }
    const records: SpoolRecord[] = [];
    let [next, missing] = [from === 0 ? first : -1, 0];
    const scan = scanFrames(bytes, ({ payload, sequence }) => {
      if (payload.length < headerBytes) return;
      const position = first + ((sequence - (first % 2 ** 32)) >>> 0);
      // Acknowledged records were delivered already, so damage to them does not count.
      if (next >= 0) missing += Math.max(0, position - Math.max(next, afterPosition + 1));
      next = position + 1;
      if (position <= afterPosition) return;
      records.push({
        position,
        timeMs: payload.readDoubleLE(0),
        samples: payload.readUInt32LE(8),
        bytes: payload.subarray(headerBytes),
      });
    });
    const damagedBytes = scan.damaged.reduce((sum, stretch) => sum + stretch.bytes, 0);
    return { records, end: from + scan.end, sizeBytes, damagedBytes, missing, next };
  } finally {
    closeSync(fd);
  }
}
