/** Reads the log back at start. Whatever is cut, flipped or missing is told and left out; the rest is served. */
import { readFileSync, statSync } from "node:fs";
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
    bytes += statSync(file).size;
    const scan = scanFrames(readAligned(file), (record) => {
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

/** In memory of its own, whose start is a multiple of 8: columns are then read in place. */
function readAligned(file: string): Buffer {
  const bytes = readFileSync(file);
  if (bytes.byteOffset % 8 === 0) return bytes;
  const own = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(own);
  return own;
}
