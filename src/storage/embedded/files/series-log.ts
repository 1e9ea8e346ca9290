/**
 * The label sets of all series. Each is appended right after the log record that introduces it, so that one damaged record
 * in either file loses no labels. Framed records (state/record.ts) of about 4 KiB; series-record.ts encodes their payloads,
 * except for that of record 0:
 *
 *   header:  u8 5, 16 bytes store id (ASCII), varint N of `series-N.log`
 *
 * The file `series-N.check` contains, for each record and under the same number, its CRC-32 and its series.
 *
 *   check:   u32 CRC-32 of the record's payload, varint count, then per series: zigzag-varint ref - previous ref
 */
import { closeSync, fdatasync, fdatasyncSync, openSync } from "node:fs";
import zlib from "node:zlib";
import { writeVarint, zigzag } from "../codec/varint.ts";
import type { LabelIndex } from "../index/index.ts";
import { writeAll } from "../blocks/writer.ts";
import { RecordBuffer } from "./series-record.ts";
import { framedBytes, frameBytes, sealFrame } from "../../../base/state/record.ts";

export const typeHeader = 5;

export const checkFile = (file: string): string => file.replace(/\.log$/, ".check");

export interface SeriesLogOptions {
  readonly file: string;
  readonly storeId: string;
  /** N of `series-N.log`. */
  readonly number: number;
  readonly requireLock: () => void;
}

/** The end of the valid records in the two files, and the number of the next record. */
export interface SeriesLogEnd {
  readonly log: number;
  readonly check: number;
  readonly sequence: number;
}

const startOfFile: SeriesLogEnd = { log: 0, check: 0, sequence: 0 };

export class SeriesLog {
  readonly #options: SeriesLogOptions;
  readonly #log: number;
  readonly #check: number;
  readonly #record = new RecordBuffer();
  /** True until the manifest has this version: an older gpulse would misread the records, but refuses a newer manifest. */
  isHeld = false;
  #end: SeriesLogEnd;
  #syncedRecords: number;

  /** @param syncedRecords number of records that are known to be on disk */
  constructor(options: SeriesLogOptions, end = startOfFile, syncedRecords = 0) {
    this.#syncedRecords = syncedRecords;
    this.#log = openSync(options.file, end.log === 0 ? "w" : "r+", 0o600);
    this.#check = openSync(checkFile(options.file), end.check === 0 ? "w" : "r+", 0o600);
    this.#end = end;
    this.#options = options;
  }

  /** Number of records that survive a power cut. */
  get syncedRecords(): number {
    return this.#syncedRecords;
  }

  get bytes(): number {
    return this.#end.log;
  }

  /** Writes these series. They are on disk after `sync`. */
  add(index: LabelIndex, refs: readonly number[]): void {
    if (this.isHeld) throw new Error("the manifest of the store is still of an older version");
    this.#whole(() => {
      for (const ref of refs) {
        if (!index.table.isAlive(ref)) continue;
        if (this.#record.isFull) this.#flush();
        this.#record.add(index, ref);
      }
      this.#flush();
    });
  }

  drop(refs: readonly number[]): void {
    this.#whole(() => {
      for (const ref of refs) {
        if (this.#record.isFull) this.#flush();
        this.#record.drop(ref);
      }
      this.#flush();
    });
  }

  async sync(): Promise<void> {
    const records = this.#end.sequence;
    for (const fd of [this.#log, this.#check])
      await new Promise<void>((resolve, reject) => {
        fdatasync(fd, (error) => (error === null ? resolve() : reject(error)));
      });
    this.#syncedRecords = Math.max(this.#syncedRecords, records);
  }

  syncNow(): void {
    fdatasyncSync(this.#log);
    fdatasyncSync(this.#check);
    this.#syncedRecords = this.#end.sequence;
  }

  close(): void {
    closeSync(this.#log);
    closeSync(this.#check);
  }

  /** A partial write is overwritten by the next one. */
  #whole(write: () => void): void {
    this.#options.requireLock();
    const end = this.#end;
    try {
      if (end.sequence === 0) this.#writeHeader(this.#options);
      write();
    } catch (thrown) {
      this.#end = end;
      this.#record.clear();
      throw thrown;
    }
  }

  #writeHeader({ storeId, number }: SeriesLogOptions): void {
    const payload = Buffer.alloc(32);
    payload[0] = typeHeader;
    payload.write(storeId, 1, 16, "latin1");
    this.#write(payload.subarray(0, writeVarint(payload, 17, number)), []);
  }

  #flush(): void {
    const payload = this.#record.finish();
    if (payload !== undefined) this.#write(payload, this.#record.named);
    this.#record.clear();
  }

  #write(payload: Buffer, named: readonly number[]): void {
    const check = Buffer.alloc(16 + 8 * named.length);
    check.writeUInt32LE(zlib.crc32(payload), 0);
    let length = writeVarint(check, 4, named.length);
    let last = 0;
    for (const ref of named) {
      length = writeVarint(check, length, zigzag(ref - last));
      last = ref;
    }
    const { log, check: checkEnd, sequence } = this.#end;
    this.#end = {
      check: checkEnd + writeFrame(this.#check, check.subarray(0, length), checkEnd, sequence),
      log: log + writeFrame(this.#log, payload, log, sequence),
      sequence: (sequence + 1) >>> 0,
    };
  }
}

function writeFrame(fd: number, payload: Buffer, at: number, sequence: number): number {
  const bytes = Buffer.alloc(framedBytes(payload.length));
  payload.copy(bytes, frameBytes);
  const length = sealFrame(bytes, 0, payload.length, sequence);
  writeAll(fd, bytes, at);
  return length;
}
