/** Reads the log back at start. Whatever is cut, flipped or missing is told and left out; the rest is served. */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { sayError } from "../../errors/error.ts";
import { scanFrames } from "../../state/record.ts";
import { listSegments, segmentFile } from "./log.ts";
import type { RecordHandler } from "./records.ts";
import { readRecord } from "./records.ts";

export interface Replayed {
  readonly records: number;
  readonly bytes: number;
  /** Sentences: what is lost and where. */
  readonly lost: readonly string[];
  /** The log ends in something that is not a whole record: a write that had not returned, or damage to the last record. */
  readonly tornTail: boolean;
  readonly nextSegment: number;
  readonly nextSequence: number;
}

export function replayLog(dir: string, fromSegment: number, handler: RecordHandler): Replayed {
  const segments = listSegments(dir).filter((segment) => segment >= fromSegment);
  const lost: string[] = [];
  let [records, bytes, tornTail, expected] = [0, 0, false, fromSegment];
  let sequence: number | undefined;
  for (const segment of segments) {
    if (segment > expected)
      lost.push(`log segments ${expected} to ${segment - 1} are missing: their samples are lost`);
    expected = segment + 1;
    const file = segmentFile(dir, segment);
    const written = readWritten(file);
    bytes += written.fileBytes;
    const scan = scanFrames(written.bytes, (record) => {
      records++;
      if (sequence !== undefined && record.sequence !== sequence) {
        const gap = (record.sequence - sequence) >>> 0;
        lost.push(`${gap} records before record ${record.sequence} in ${file} are lost`);
      }
      sequence = (record.sequence + 1) >>> 0;
      try {
        readRecord(record.payload, handler);
      } catch (thrown) {
        if (!(thrown instanceof RangeError)) throw thrown;
        lost.push(`record ${record.sequence} of ${file} cannot be read: ${sayError(thrown)}`);
      }
    });
    // Damage inside shows as a gap in the sequence; at an end it may be a write that never returned.
    tornTail = scan.damaged.at(-1)?.at === scan.end;
  }
  return {
    records,
    bytes,
    lost,
    tornTail,
    nextSegment: Math.max(expected, fromSegment),
    nextSequence: sequence ?? 0,
  };
}

const zeros = Buffer.alloc(2 ** 20);

/**
 * What was written of a segment, most of which is allocated and zero: that is passed over in pieces, from its end, in
 * memory that is used again. One piece of it is kept, since the last record may end in zeros. The bytes begin at a multiple
 * of 8 in memory of their own: columns are then read in place.
 */
function readWritten(file: string): { readonly bytes: Buffer; readonly fileBytes: number } {
  const fd = openSync(file, "r");
  try {
    const fileBytes = fstatSync(fd).size;
    const piece = Buffer.allocUnsafeSlow(zeros.length);
    let end = fileBytes;
    while (end > 0) {
      const from = Math.max(0, end - piece.length);
      const tail = piece.subarray(0, end - from);
      readFully(fd, tail, from);
      if (!tail.equals(zeros.subarray(0, tail.length))) break;
      end = from;
    }
    const bytes = Buffer.allocUnsafeSlow(Math.min(fileBytes, end + piece.length));
    return { bytes: bytes.subarray(0, readFully(fd, bytes, 0)), fileBytes };
  } finally {
    closeSync(fd);
  }
}

/** Fewer bytes only where the file ends before. */
function readFully(fd: number, bytes: Buffer, from: number): number {
  let done = 0;
  for (let got = 1; got > 0 && done < bytes.length; done += got)
    got = readSync(fd, bytes, done, bytes.length - done, from + done);
  return done;
}
