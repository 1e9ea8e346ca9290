/**
 * The label sets of all series. Each is appended right after the log record that names it, so that one damaged record in
 * either file loses no name. Framed records (state/record.ts) of about 1 KiB, each readable without the others:
 *
 *   header:  u8 5, 16 bytes store id (ASCII), varint N of `series-N.log`; record 0
 *   series:  u8 4, varint count (3 bytes), then per series: zigzag-varint ref - ref before, varint labels, per label: name, value;
 *            a text is varint 0, varint bytes, UTF-8 when new to the record, else varint 1 + its place among the record's texts
 *   dropped: u8 3, varint count (3 bytes), then per series: zigzag-varint ref - ref before
 *
 * Beside it stands `series-N.check`: for each record, under the same number, its CRC-32 and the series it names.
 *
 *   check:   u32 CRC-32 of the record's payload, varint count, then per series it names: zigzag-varint ref - ref before
 */
import { closeSync, fdatasync, fdatasyncSync, openSync } from "node:fs";
import zlib from "node:zlib";
import { writeVarint, zigzag } from "../codec/varint.ts";
import type { LabelIndex } from "../index/index.ts";
import { writeAll } from "../blocks/writer.ts";
import { framedBytes, frameBytes, sealFrame } from "../../../base/state/record.ts";

export const typeDropped = 3;
export const typeTextSeries = 4;
export const typeHeader = 5;
/** Records are cut at about this size, so that damage takes little with it. */
const recordBytes = 1_024;

export const checkFile = (file: string): string => file.replace(/\.log$/, ".check");

export interface SeriesLogOptions {
  readonly file: string;
  readonly storeId: string;
  /** N of `series-N.log`. */
  readonly number: number;
  readonly requireLock: () => void;
}

/** Where the good records of the two files end, and the number of the next record. */
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
  #end: SeriesLogEnd;
  #syncedRecords: number;

  /** `syncedRecords`: how many of its records are known to be on the disk. */
  constructor(options: SeriesLogOptions, end = startOfFile, syncedRecords = 0) {
    this.#syncedRecords = syncedRecords;
    this.#log = openSync(options.file, end.log === 0 ? "w" : "r+", 0o600);
    this.#check = openSync(checkFile(options.file), end.check === 0 ? "w" : "r+", 0o600);
    this.#end = end;
    this.#options = options;
  }

  /** Records that a power cut does not take. */
  get syncedRecords(): number {
    return this.#syncedRecords;
  }

  get bytes(): number {
    return this.#end.log;
  }

  /** Writes these series. They are on the disk after `sync`. */
  add(index: LabelIndex, refs: readonly number[]): void {
    this.#whole(() => {
      const { symbols, table, pairs } = index;
      const record = this.#record;
      for (const ref of refs) {
        if (!table.isAlive(ref)) continue;
        if (record.isFull) this.#flush();
        record.begin(typeTextSeries, ref);
        const labels = table.pairCount(ref);
        record.varint(labels);
        for (let i = 0; i < labels; i++) {
          const pair = table.pair(ref, i);
          record.text(symbols.text(pairs.name(pair)));
          record.text(symbols.text(pairs.value(pair)));
        }
        record.named.push(ref);
      }
      this.#flush();
    });
  }

  drop(refs: readonly number[]): void {
    this.#whole(() => {
      for (const ref of refs) {
        if (this.#record.isFull) this.#flush();
        this.#record.begin(typeDropped, ref);
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

  /** A write that failed in part is overwritten by the next one. */
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

/** Collects entries of one type into a record; the count, known only at the end, is a fixed three bytes. */
class RecordBuffer {
  readonly named: number[] = [];
  readonly #texts = new Map<string, number>();
  #buffer = Buffer.alloc(2 * recordBytes);
  #at = 0;
  #count = 0;
  #last = 0;

  get isFull(): boolean {
    return this.#at >= recordBytes;
  }

  begin(type: number, ref: number): void {
    if (this.#count === 0) {
      this.#buffer[0] = type;
      this.#at = 4;
    }
    this.#count++;
    this.varint(zigzag(ref - this.#last));
    this.#last = ref;
  }

  varint(value: number): void {
    this.#reserve(8);
    this.#at = writeVarint(this.#buffer, this.#at, value);
  }

  text(text: string): void {
    const known = this.#texts.get(text);
    if (known !== undefined) return this.varint(known + 1);
    this.#texts.set(text, this.#texts.size);
    this.varint(0);
    const bytes = Buffer.byteLength(text);
    this.varint(bytes);
    this.#reserve(bytes);
    this.#at += this.#buffer.write(text, this.#at, "utf8");
  }

  /** The payload; undefined where nothing was collected. */
  finish(): Buffer | undefined {
    if (this.#count === 0) return undefined;
    this.#buffer[1] = (this.#count & 0x7f) | 0x80;
    this.#buffer[2] = ((this.#count >>> 7) & 0x7f) | 0x80;
    this.#buffer[3] = this.#count >>> 14;
    return this.#buffer.subarray(0, this.#at);
  }

  clear(): void {
    this.#texts.clear();
    this.named.length = 0;
    [this.#at, this.#count, this.#last] = [0, 0, 0];
  }

  #reserve(more: number): void {
    if (this.#at + more <= this.#buffer.length) return;
    this.#buffer = Buffer.concat([this.#buffer, Buffer.alloc(this.#buffer.length + more)]);
  }
}
