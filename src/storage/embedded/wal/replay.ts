/**
 * Replays the log at startup. Truncated, corrupt and missing records are counted and reported; the rest is served.
 *
 * Records are numbered and carry the count of samples logged before them, so a gap between two records shows how many
 * records and samples are missing. The acknowledged mark does the same for the end of the log.
 */
import { renameSync, statSync } from "node:fs";
import { formatError } from "../../../base/error.ts";
import { scanFrames, type ScannedRecord } from "../../../base/state/record.ts";
import { salvageFile } from "../../../base/state/salvage.ts";
import { listSegments, type LogPosition, segmentFile } from "./log.ts";
import { readMark } from "./mark.ts";
import {
  countSamples,
  readRecord,
  readSegmentHeader,
  type RecordHandler,
  type SegmentHeader,
} from "./records.ts";

/** The header is the first record of its segment. */
const headerSearchBytes = 64;

export interface WalReplayOptions {
  readonly dir: string;
  readonly fromSegment: number;
  /** Position of the first segment; undefined if the manifest does not contain it. */
  readonly from?: LogPosition;
  readonly storeId: string;
}

export interface WalReplayResult {
  readonly records: number;
  readonly bytes: number;
  /** One sentence per loss: what and where. */
  readonly lost: readonly string[];
  /** Acknowledged samples that are missing, as far as the log can count them. */
  readonly lostSamples: number;
  /** Bytes of the segments without a valid record, where a record was acknowledged. */
  readonly lostBytes: number;
  /** True if the log ends in a partial record: a write that had not returned. */
  readonly tornTail: boolean;
  /** Segments that are partly unreadable. */
  readonly unreadable: readonly number[];
  readonly nextSegment: number;
  /** Position of the first record; equal to `next` if there is none. */
  readonly first: LogPosition;
  readonly next: LogPosition;
}

export function replayLog(options: WalReplayOptions, handler: RecordHandler): WalReplayResult {
  return new Replay(options, handler).run();
}

class Replay {
  readonly #options: WalReplayOptions;
  readonly #handler: RecordHandler;
  readonly #lost: string[] = [];
  readonly #unreadable: number[] = [];
  /** Expected sequence of the next record; undefined until known. */
  #sequence: number | undefined;
  #samples: number | undefined;
  #first: LogPosition | undefined;
  #records = 0;
  #lostSamples = 0;
  #lostBytes = 0;
  /** Bytes after the last record of the previous segment; they are lost if a record turns out to be missing there. */
  #tailBytes = 0;
  /** A gap whose lost samples are known at the next record with a sample count; series records have none. */
  #openGap: string | undefined;
  #sawHeader = false;

  constructor(options: WalReplayOptions, handler: RecordHandler) {
    this.#options = options;
    this.#handler = handler;
    this.#sequence = options.from?.sequence;
    this.#samples = options.from?.samples;
  }

  run(): WalReplayResult {
    const { dir, fromSegment } = this.#options;
    let [bytes, expected] = [0, fromSegment];
    for (const segment of listSegments(dir)) {
      if (segment < fromSegment) continue;
      if (segment > expected)
        this.#lost.push(
          `log segments ${expected} to ${segment - 1} are missing: their samples are lost`,
        );
      expected = segment + 1;
      bytes += statSync(segmentFile(dir, segment)).size;
      this.#segment(segment);
    }
    const tornTail = this.#checkEnd();
    this.#closeGap(undefined);
    const next = { sequence: this.#sequence ?? 0, samples: this.#samples ?? 0 };
    return {
      records: this.#records,
      bytes,
      lost: this.#lost,
      lostSamples: this.#lostSamples,
      lostBytes: this.#lostBytes,
      tornTail,
      unreadable: this.#unreadable,
      nextSegment: Math.max(expected, fromSegment),
      first: this.#first ?? next,
      next,
    };
  }

  #segment(segment: number): void {
    const file = segmentFile(this.#options.dir, segment);
    const { bytes, usedBytes, unreadableBytes } = salvageFile(file);
    if (unreadableBytes > 0) {
      this.#unreadable.push(segment);
      this.#lost.push(`${unreadableBytes} bytes of ${file} cannot be read: the file is set aside`);
    }
    const foreign = this.#foreign(bytes, segment);
    if (foreign !== undefined) {
      renameSync(file, `${file}.damaged`);
      this.#lost.push(`${file} ${foreign}: it is not read, and set aside as ${file}.damaged`);
      return;
    }
    const scan = scanFrames(bytes, (record) => this.#record(record, file), usedBytes);
    for (const { at, bytes: length } of scan.damaged) {
      if (at === scan.end) continue;
      this.#lostBytes += length;
      this.#lost.push(`${length} bytes of ${file} from byte ${at} on are damaged`);
    }
    const tail = scan.damaged.at(-1);
    this.#tailBytes = tail?.at === scan.end ? tail.bytes : 0;
  }

  /** Returns why a segment belongs to another store or has a wrong name; undefined if it may be read. */
  #foreign(bytes: Buffer, segment: number): string | undefined {
    const header = firstHeader(bytes);
    if (header === undefined) return undefined;
    this.#sawHeader = true;
    if (header.storeId !== this.#options.storeId) return "belongs to another store";
    return header.segment === segment ? undefined : `is a copy of log segment ${header.segment}`;
  }

  #record({ payload, sequence }: ScannedRecord, file: string): void {
    const header = readSegmentHeader(payload);
    this.#first ??= {
      sequence,
      samples: header?.samplesBefore ?? countSamples(payload).before ?? 0,
    };
    if (header !== undefined) {
      if (this.#isExpected(sequence, header.samplesBefore, file)) {
        this.#sequence = sequence;
        this.#samples = header.samplesBefore;
      }
      return;
    }
    const { before, count } = countSamples(payload);
    if (!this.#isExpected(sequence, before, file)) return;
    this.#records++;
    this.#sequence = (sequence + 1) >>> 0;
    const known = before ?? this.#samples;
    this.#samples = known === undefined ? undefined : known + count;
    try {
      readRecord(payload, this.#handler);
    } catch (thrown) {
      if (!(thrown instanceof RangeError)) throw thrown;
      this.#lostSamples += count;
      this.#lost.push(
        `record ${sequence} of ${file} cannot be read, ${count} samples are lost: ${formatError(thrown)}`,
      );
    }
  }

  /** Counts the records and samples missing before a record. Returns false for a duplicate record, which must not be applied again. */
  #isExpected(sequence: number, samples: number | undefined, file: string): boolean {
    if (this.#sequence === undefined) return true;
    const gap = (sequence - this.#sequence) | 0;
    if (gap === 0 && samples !== undefined) this.#closeGap(samples);
    if (gap < 0) {
      this.#lost.push(`record ${sequence} of ${file} is out of order and was not read`);
      return false;
    }
    if (gap > 0)
      this.#missing(samples, `${gap} records before record ${sequence} in ${file} are lost`);
    return true;
  }

  #missing(samples: number | undefined, sentence: string): void {
    this.#lostBytes += this.#tailBytes;
    this.#tailBytes = 0;
    this.#openGap = this.#openGap === undefined ? sentence : `${this.#openGap}; ${sentence}`;
    if (samples !== undefined) this.#closeGap(samples);
  }

  /**
   * Reports an open gap.
   * @param samples the count before the record that ends the gap; undefined at the end of the log
   */
  #closeGap(samples: number | undefined): void {
    if (this.#openGap === undefined) return;
    const missing =
      samples === undefined || this.#samples === undefined ? undefined : samples - this.#samples;
    this.#lostSamples += Math.max(0, missing ?? 0);
    this.#lost.push(`${this.#openGap}, ${missing ?? "with an unknown number of"} samples`);
    this.#openGap = undefined;
  }

  /** Returns true if the log ends in a write that never returned. */
  #checkEnd(): boolean {
    const { dir, storeId } = this.#options;
    const mark = readMark(dir, storeId);
    if (mark === undefined) {
      if (this.#sawHeader)
        this.#lost.push(
          `${dir}/acknowledged is missing or damaged: whether records at the end of the log are lost is not known`,
        );
      return this.#tailBytes > 0;
    }
    this.#sequence ??= mark.sequence;
    this.#samples ??= mark.samples;
    const gap = (mark.sequence - this.#sequence) | 0;
    if (gap === 0) this.#closeGap(mark.samples);
    if (gap <= 0) return this.#tailBytes > 0;
    this.#missing(mark.samples, `the last ${gap} records of the log in ${dir} are lost`);
    this.#sequence = mark.sequence;
    this.#samples = mark.samples;
    return false;
  }
}

/** The store id of a segment; undefined for version 1, or if it cannot be read. */
export function segmentStore(dir: string, segment: number): string | undefined {
  return firstHeader(salvageFile(segmentFile(dir, segment)).bytes)?.storeId;
}

function firstHeader(bytes: Buffer): SegmentHeader | undefined {
  let header: SegmentHeader | undefined;
  scanFrames(bytes.subarray(0, headerSearchBytes), ({ payload }) => {
    header ??= readSegmentHeader(payload);
  });
  return header;
}
