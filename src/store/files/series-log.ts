/**
 * The label sets of all series, appended to when the log that first named them is about to go. Framed records (state/record.ts):
 *
 *   symbols: u8 1, varint first id, varint count, then per symbol: varint bytes, text
 *   series:  u8 2, varint count, then per series: zigzag-varint ref - ref before, varint labels, per label: varint name, varint value (symbol ids)
 *   dropped: u8 3, varint count, then per series: zigzag-varint ref - ref before
 */
import { closeSync, fdatasync, fdatasyncSync, fstatSync, openSync, readFileSync } from "node:fs";
import { sayError, systemCode } from "../../errors/error.ts";
import { readVarint, unzigzag, writeVarint, zigzag } from "../codec/varint.ts";
import type { LabelIndex } from "../index/index.ts";
import { writeAll } from "../blocks/writer.ts";
import { framedBytes, frameBytes, scanFrames, sealFrame } from "../../state/record.ts";

const typeSymbols = 1;
const typeSeries = 2;
const typeDropped = 3;
/** Records are cut at about this size, so that damage takes little with it. */
const recordBytes = 65_536;

export class SeriesLog {
  readonly #fd: number;
  readonly #requireLock: () => void;
  #end: number;
  #sequence: number;
  #symbols: number;

  /** `end` and `sequence` are where the good records ended; `symbols` how many of them are in the file. */
  constructor(
    file: string,
    end: number,
    sequence: number,
    symbols: number,
    requireLock: () => void,
  ) {
    this.#requireLock = requireLock;
    this.#fd = openSync(file, end === 0 ? "w" : "r+");
    this.#end = end;
    this.#sequence = sequence;
    this.#symbols = symbols;
  }

  /** Writes these series, and every symbol that is not there yet. They are on the disk after `sync`. */
  add(index: LabelIndex, refs: readonly number[]): void {
    this.#whole(() => this.#add(index, refs));
  }

  #add(index: LabelIndex, refs: readonly number[]): void {
    const { symbols, table, pairs } = index;
    const record = new RecordBuffer((bytes, length) => this.#write(bytes, length));
    for (; this.#symbols < symbols.count; this.#symbols++) {
      const text = Buffer.from(symbols.text(this.#symbols), "utf8");
      record.begin(typeSymbols, this.#symbols, 16 + text.length);
      record.varint(text.length);
      record.bytes(text);
    }
    record.flush();
    let last = 0;
    for (const ref of refs) {
      if (!table.isAlive(ref)) continue;
      const labels = table.pairCount(ref);
      if (record.begin(typeSeries, undefined, 16 + labels * 16)) last = 0;
      record.varint(zigzag(ref - last));
      last = ref;
      record.varint(labels);
      for (let i = 0; i < labels; i++) {
        const pair = table.pair(ref, i);
        record.varint(pairs.name(pair));
        record.varint(pairs.value(pair));
      }
    }
    record.flush();
  }

  drop(refs: readonly number[]): void {
    this.#whole(() => this.#drop(refs));
  }

  #drop(refs: readonly number[]): void {
    const record = new RecordBuffer((bytes, length) => this.#write(bytes, length));
    let last = 0;
    for (const ref of refs) {
      if (record.begin(typeDropped, undefined, 16)) last = 0;
      record.varint(zigzag(ref - last));
      last = ref;
    }
    record.flush();
  }

  sync(): Promise<void> {
    return new Promise((resolve, reject) => {
      fdatasync(this.#fd, (error) => (error === null ? resolve() : reject(error)));
    });
  }

  syncNow(): void {
    fdatasyncSync(this.#fd);
  }

  get bytes(): number {
    return this.#end;
  }

  close(): void {
    closeSync(this.#fd);
  }

  /** What the disk did not take whole is written over the next time. */
  #whole(write: () => void): void {
    this.#requireLock();
    const [end, sequence, symbols] = [this.#end, this.#sequence, this.#symbols];
    try {
      write();
    } catch (thrown) {
      [this.#end, this.#sequence, this.#symbols] = [end, sequence, symbols];
      throw thrown;
    }
  }

  #write(bytes: Buffer, length: number): void {
    const end = sealFrame(bytes, 0, length, this.#sequence++);
    writeAll(this.#fd, bytes.subarray(0, end), this.#end);
    this.#end += end;
  }
}

/** Collects entries of one type into records; the count, known only at the end, is a fixed three bytes. */
class RecordBuffer {
  readonly #write: (bytes: Buffer, length: number) => void;
  #buffer = Buffer.alloc(framedBytes(recordBytes + 4096));
  #at = 0;
  #countAt = 0;
  #count = 0;

  constructor(write: (bytes: Buffer, length: number) => void) {
    this.#write = write;
  }

  /** Makes place for one more entry; true if a new record begins with it. */
  begin(type: number, firstId: number | undefined, most: number): boolean {
    if (this.#count > 0 && this.#at + most > recordBytes) this.flush();
    const fresh = this.#count === 0;
    if (this.#buffer.length < frameBytes + recordBytes + most + 64)
      this.#buffer = Buffer.concat([this.#buffer, Buffer.alloc(most + recordBytes)]);
    if (fresh) {
      this.#at = frameBytes;
      this.#buffer[this.#at++] = type;
      if (firstId !== undefined) this.varint(firstId);
      this.#countAt = this.#at;
      this.#at += 3;
    }
    this.#count++;
    return fresh;
  }

  varint(value: number): void {
    this.#at = writeVarint(this.#buffer, this.#at, value);
  }

  bytes(bytes: Buffer): void {
    this.#at += bytes.copy(this.#buffer, this.#at);
  }

  flush(): void {
    if (this.#count === 0) return;
    this.#buffer[this.#countAt] = (this.#count & 0x7f) | 0x80;
    this.#buffer[this.#countAt + 1] = ((this.#count >>> 7) & 0x7f) | 0x80;
    this.#buffer[this.#countAt + 2] = this.#count >>> 14;
    this.#write(this.#buffer, this.#at - frameBytes);
    this.#count = 0;
  }
}

export interface LoadedSeries {
  readonly log: SeriesLog;
  readonly lost: readonly string[];
}

/** Fills an empty index from the file, if there is one, and opens it for more. */
export function openSeriesLog(
  file: string,
  index: LabelIndex,
  requireLock: () => void,
): LoadedSeries {
  const lost: string[] = [];
  const bytes = readIfThere(file);
  if (bytes.length === 0) return { log: new SeriesLog(file, 0, 0, 0, requireLock), lost };
  let sequence = 0;
  let lostSeries = 0;
  const names = new Uint32Array(1024);
  const values = new Uint32Array(1024);
  /** Symbols that are lost, and so are the series named with them. */
  const holes = new Set<number>();
  const { symbols } = index;
  const isWhole = (symbol: number): boolean => symbol < symbols.count && !holes.has(symbol);
  const read = (payload: Buffer): void => {
    const cursor = { at: 1 };
    if (payload[0] === typeSymbols) {
      const first = readVarint(payload, cursor);
      // Each of those before it took at least a byte: a number beyond the file is none.
      if (first > bytes.length) throw new RangeError("it names more labels than the file can hold");
      while (symbols.count < first) holes.add(symbols.skip());
      for (let left = readVarint(payload, cursor); left > 0; left--) {
        const length = readVarint(payload, cursor);
        const text = payload.toString("utf8", cursor.at, cursor.at + length);
        // One that is there already is no symbol of ours; those after it keep their numbers all the same.
        if (symbols.find(text) === undefined) symbols.intern(text);
        else holes.add(symbols.skip());
        cursor.at += length;
      }
      return;
    }
    const dropped = new Set<number>();
    let ref = 0;
    for (let left = readVarint(payload, cursor); left > 0; left--) {
      ref += unzigzag(readVarint(payload, cursor));
      if (payload[0] === typeDropped) {
        if (index.table.isAlive(ref)) dropped.add(ref);
        continue;
      }
      const labels = readVarint(payload, cursor);
      let whole = labels <= names.length;
      for (let i = 0; i < labels; i++) {
        const [name, value] = [readVarint(payload, cursor), readVarint(payload, cursor)];
        [names[i], values[i]] = [name, value];
        whole &&= isWhole(name) && isWhole(value);
      }
      if (!whole) lostSeries++;
      else {
        if (index.table.isAlive(ref)) index.drop(ref);
        index.addSymbols(names, values, labels, ref);
      }
    }
    if (dropped.size > 0) index.dropAll([...dropped]);
  };
  const scan = scanFrames(bytes, (record) => {
    if (record.sequence !== sequence)
      lost.push(`${record.sequence - sequence} records of ${file} are damaged: series are lost`);
    sequence = record.sequence + 1;
    try {
      read(record.payload);
    } catch (thrown) {
      if (!(thrown instanceof RangeError)) throw thrown;
      lost.push(
        `record ${record.sequence} of ${file} cannot be read, series are lost: ${sayError(thrown)}`,
      );
    }
  });
  if (lostSeries > 0) lost.push(`${lostSeries} series of ${file} are lost with their labels`);
  return { log: new SeriesLog(file, scan.end, sequence, symbols.count, requireLock), lost };
}

function readIfThere(file: string): Buffer {
  try {
    const fd = openSync(file, "r");
    try {
      return fstatSync(fd).size === 0 ? Buffer.alloc(0) : readFileSync(fd);
    } finally {
      closeSync(fd);
    }
  } catch (thrown) {
    if (systemCode(thrown) === "ENOENT") return Buffer.alloc(0);
    throw thrown;
  }
}
