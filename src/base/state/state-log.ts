/**
 * A file of small state: framed records (record.ts) with JSON payloads, replayed on opening. Once `append` returns, the kernel has
 * the record and it survives `kill -9`. A torn or damaged record is logged and skipped; a `strict` file, in which a lost record
 * would restore a revoked right, is refused as a whole instead.
 *
 *   record 0:  {"gpulse":"state","version":1,"generation":0}
 *   record n:  any JSON value, or bytes in the caller's own format, the first of which is 1 to 8: no JSON text starts so
 *
 * Two processes may share a file (`shared`): each write holds the folder's lock for that write only and first reads what the other
 * process wrote; a process that only reads calls `refresh`. A rewritten file has another inode, and is then read from its start; so
 * is a strict file that was changed in place. A bit that flips on the disk is detected at the next start.
 */
import {
  closeSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import path from "node:path";
import { makeFolderSync } from "../make-folder.ts";
import { GpulseError, formatError, systemCode } from "../error.ts";
import type { Log } from "../log.ts";
import { syncFolder } from "./atomic.ts";
import { isBehind, readMark, type StateFileMark, writeMark } from "./mark.ts";
import { frameBytes, framedBytes, scanFrames, sealFrame } from "./record.ts";
import { withFolderLock } from "./short-lock.ts";

const version = 1;
const header = (generation: number) => ({ gpulse: "state", version, generation });
const defaultMaxBytes = 64 * 2 ** 20;

export interface StateLogOptions {
  readonly log: Log;
  /** Another process may write to the file as well. Put such files in a folder of their own: it is locked for each write. */
  readonly shared?: boolean;
  /** Syncs to the disk after each record: for rare records that must survive a power cut. */
  readonly sync?: boolean;
  /**
   * Refuses a damaged file, including one that lost records at its end: opening and appending throw STATE_DAMAGED, `refresh` sets
   * `isDamaged`.
   */
  readonly strict?: boolean;
  /** Maximum file size; an append beyond it is refused. */
  readonly maxBytes?: number;
}

/** Receives the records and holds the state they describe. */
export interface StateReader {
  /** Discards everything read so far: the file is about to be read from its start. */
  reset(): void;
  /** Returns false for a payload that it does not understand. */
  record(payload: unknown): boolean;
}

export class StateLog {
  readonly file: string;
  readonly #options: StateLogOptions;
  readonly #reader: StateReader | undefined;
  readonly #maxBytes: number;
  #fd = -1;
  #inode = -1;
  /** Modification time of the file at the last read or write by this process. */
  #modifiedMs = Number.NaN;
  /** Where the last good record ended; what follows is torn, or not completely written yet. */
  #end = 0;
  #sequence = 0;
  #damaged = 0;
  #generation = 0;
  #isRefused = false;
  /** True while no other process may write to the file. */
  #isLocked = false;
  /** True if nothing follows the last good record. Only this process writes to a file that is not shared, so it stays true. */
  #isTailClean = false;

  /** Opens or creates the file and passes every good record to `reader`; without a reader, records are not parsed. */
  constructor(file: string, options: StateLogOptions, reader?: StateReader) {
    this.file = file;
    this.#options = options;
    this.#reader = reader;
    this.#maxBytes = options.maxBytes ?? defaultMaxBytes;
    this.#exclusively(() => {
      if (this.#fd === -1) this.#open();
      this.#mendTail();
      // A file of an earlier gpulse has no mark yet, and a crash leaves the mark one record behind. A mark that is right is not
      // written again: the two syncs would delay every start.
      if (this.#options.strict === true && !this.#isMarked()) this.#writeMark(this.#sequence);
    });
  }

  get sizeBytes(): number {
    return this.#end;
  }

  /** Number of ranges of the file that held no good record. */
  get damaged(): number {
    return this.#damaged;
  }

  /** For a strict file: true if the content last read is unreliable. */
  get isDamaged(): boolean {
    return this.#isRefused;
  }

  /** Writes one record; `reader` is not called for it. Throws, with nothing stored, if the disk refuses the write. */
  append(payload: unknown): void {
    const bytes = unsealed(payload);
    this.#append(bytes, bytes.readUInt32LE(4));
  }

  /**
   * Writes one record of bytes, which readers get as a `Uint8Array`: for records too numerous for JSON. The payload is at
   * `frameBytes` in a buffer with 8 spare bytes after it; the caller may reuse the buffer.
   */
  appendBytes(bytes: Buffer, payloadBytes: number): void {
    if (!isBinary(bytes[frameBytes]))
      throw new TypeError("BUG: a record of bytes starts with 1 to 8.");
    this.#append(bytes, payloadBytes);
  }

  #append(bytes: Buffer, payloadBytes: number): void {
    const length = framedBytes(payloadBytes);
    this.#exclusively(() => {
      if (this.#end + length > this.#maxBytes) throw this.#full();
      this.#mendTail();
      // The checksum covers the sequence number, which is known only once the lock is held.
      sealFrame(bytes, 0, payloadBytes, this.#sequence);
      this.#write(bytes, length);
    });
  }

  /** Replaces all records by these, atomically: a crash leaves the old file or the new one. */
  rewrite(payloads: Iterable<unknown>): void {
    this.#exclusively(() => {
      const generation = this.#generation + 1;
      const parts = [framed(header(generation), 0)];
      for (const payload of payloads) parts.push(framed(payload, parts.length));
      const bytes = Buffer.concat(parts);
      if (bytes.length > this.#maxBytes) throw this.#full();
      const next = `${this.file}.tmp`;
      const fd = openSync(next, "w", 0o600);
      try {
        for (let done = 0; done < bytes.length;)
          done += writeSync(fd, bytes, done, bytes.length - done);
        fsyncSync(fd);
        renameSync(next, this.file);
      } catch (thrown) {
        rmSync(next, { force: true });
        throw thrown;
      } finally {
        closeSync(fd);
      }
      this.#close();
      this.#fd = openSync(this.file, "a+", 0o600);
      ({ ino: this.#inode, mtimeMs: this.#modifiedMs } = fstatSync(this.#fd));
      this.#end = bytes.length;
      this.#sequence = parts.length;
      this.#generation = generation;
      // From here on the new file is in effect, whether or not its name is on the disk.
      syncFolder(path.dirname(this.file));
      this.#writeMark(this.#sequence);
    });
  }

  /** Reads the records that another process wrote since the last read. True if there were any. */
  refresh(): boolean {
    try {
      return this.#refresh();
    } catch (thrown) {
      if (this.#options.strict !== true || !(thrown instanceof GpulseError)) throw thrown;
      if (!this.#isRefused) this.#options.log.error(thrown.message);
      this.#isRefused = true;
      return true;
    }
  }

  close(): void {
    this.#close();
  }

  #refresh(): boolean {
    let now: { readonly ino: number; readonly size: number; readonly mtimeMs: number };
    try {
      now = statSync(this.file);
    } catch (thrown) {
      if (systemCode(thrown) !== "ENOENT") throw thrown;
      if (this.#options.strict === true && (this.#sequence > 1 || this.#isRefused))
        throw this.#refusal("it is missing");
      if (this.#fd === -1) return false;
      this.#close();
      this.#start();
      return true;
    }
    // A file that changed and did not grow was overwritten.
    const isOverwritten =
      this.#options.strict === true && now.size === this.#end && now.mtimeMs !== this.#modifiedMs;
    if (this.#isRefused || now.ino !== this.#inode || now.size < this.#end || isOverwritten) {
      this.#close();
      this.#open();
      this.#isRefused = false;
      return true;
    }
    return now.size > this.#end && this.#read() > 0;
  }

  #exclusively(work: () => void): void {
    try {
      if (this.#options.shared !== true) return this.#locked(work);
      makeFolderSync(path.dirname(this.file), { mode: 0o700 });
      withFolderLock(path.dirname(this.file), () =>
        this.#locked(() => {
          this.#refresh();
          if (this.#fd === -1) this.#open();
          work();
        }),
      );
    } catch (thrown) {
      if (thrown instanceof GpulseError) throw thrown;
      throw new GpulseError(
        "DATA_FOLDER",
        `Cannot write ${this.file}: ${formatError(thrown)}. Check the disk and that this user may write there.`,
        { cause: thrown },
      );
    }
  }

  #locked(work: () => void): void {
    this.#isLocked = true;
    try {
      work();
    } finally {
      this.#isLocked = false;
    }
  }

  #open(): void {
    makeFolderSync(path.dirname(this.file), { mode: 0o700 });
    // Read before the file: another process may append to it meanwhile, and the mark must not be ahead of what is read.
    const mark = this.#options.strict === true ? readMark(this.file) : undefined;
    this.#fd = openSync(this.file, "a+", 0o600);
    const { ino, size } = fstatSync(this.#fd);
    this.#inode = ino;
    this.#start();
    this.#read();
    if (this.#isTornAtCreation(mark, size)) ftruncateSync(this.#fd, 0);
    else if (this.#options.strict === true) this.#checkComplete(mark, size);
    if (this.#end === 0 && fstatSync(this.#fd).size === 0) this.#writeHeader();
  }

  /**
   * True if a crash cut the header while the file was made: no record was ever in it. Only under the lock, since another process
   * may be writing the header right now.
   */
  #isTornAtCreation(mark: StateFileMark | "damaged" | undefined, size: number): boolean {
    return (
      this.#options.strict === true &&
      this.#isLocked &&
      mark === undefined &&
      size > 0 &&
      size < framed(header(0), 0).length
    );
  }

  #checkComplete(mark: StateFileMark | "damaged" | undefined, size: number): void {
    if (mark === "damaged") throw this.#refusal("the mark beside it is damaged");
    if (this.#end === 0 && size > 0) throw this.#refusal("it holds no record");
    const found = { generation: this.#generation, records: this.#sequence };
    if (mark !== undefined && isBehind(found, mark))
      throw this.#refusal(
        found.records === 0 ? "it is missing or empty" : "records are missing at its end",
      );
  }

  #isMarked(): boolean {
    const mark = readMark(this.file);
    return (
      typeof mark === "object" &&
      mark.generation === this.#generation &&
      mark.records === this.#sequence
    );
  }

  #writeMark(records: number): void {
    if (this.#options.strict === true)
      writeMark(this.file, { generation: this.#generation, records });
  }

  #refusal(why: string): GpulseError {
    return new GpulseError(
      "STATE_DAMAGED",
      `${this.file} is damaged (${why}). Restore the folder ${path.dirname(this.file)} from a backup, or run gpulse token recover.`,
    );
  }

  #start(): void {
    this.#isTailClean = false;
    this.#end = 0;
    this.#sequence = 0;
    this.#generation = 0;
    this.#reader?.reset();
  }

  /** Reads from the end of the last good record; returns how many records there were. */
  #read(): number {
    const { size: sizeNow, mtimeMs } = fstatSync(this.#fd);
    const size = sizeNow - this.#end;
    if (size > this.#maxBytes)
      throw new GpulseError(
        "DATA_FOLDER",
        `${this.file} has ${size} bytes, more than gpulse ever writes there: move it away, or restore it from a backup.`,
      );
    const bytes = Buffer.alloc(size);
    let length = 0;
    while (length < size) {
      const got = readSync(this.#fd, bytes, length, size - length, this.#end + length);
      if (got === 0) break;
      length += got;
    }
    let count = 0;
    const scan = scanFrames(bytes.subarray(0, length), ({ payload, sequence }) => {
      count++;
      if (this.#options.strict === true && sequence !== this.#sequence)
        throw this.#refusal(`record ${this.#sequence} cannot be read`);
      this.#sequence = (sequence + 1) >>> 0;
      if (sequence > 0 && this.#reader === undefined) return;
      const value: unknown = isBinary(payload[0]) ? payload : JSON.parse(payload.toString("utf8"));
      if (sequence === 0) this.#readHeader(value);
      else if (this.#reader?.record(value) !== true) this.#skip(sequence);
    });
    for (const { at, bytes: lost } of scan.damaged) {
      // The last range may be a record that is being written right now.
      if (at >= scan.end) continue;
      if (this.#options.strict === true) throw this.#refusal(`at byte ${this.#end + at}`);
      this.#logDamage(this.#end + at, lost);
    }
    this.#end += scan.end;
    this.#modifiedMs = mtimeMs;
    return count;
  }

  /** Removes what a crash left after the last good record, so that the next record starts where readers expect it. */
  #mendTail(): void {
    if (this.#isTailClean) return;
    const size = fstatSync(this.#fd).size;
    if (size === this.#end) {
      this.#isTailClean = this.#options.shared !== true && this.#options.strict !== true;
      return;
    }
    // A bad sector in the last record looks the same as a crash during its write.
    if (this.#options.strict === true) throw this.#refusal(`at byte ${this.#end}`);
    this.#logDamage(this.#end, size - this.#end);
    if (this.#end > 0) return ftruncateSync(this.#fd, this.#end);
    // None of the file is ours. It is renamed, not deleted: the user may need it.
    renameSync(this.file, `${this.file}.damaged`);
    this.#close();
    this.#open();
  }

  #writeHeader(): void {
    const bytes = framed(header(this.#generation), 0);
    this.#write(bytes, bytes.length);
  }

  #write(bytes: Buffer, length: number): void {
    try {
      for (let done = 0; done < length;) done += writeSync(this.#fd, bytes, done, length - done);
      if (this.#options.sync === true) fdatasyncSync(this.#fd);
      this.#writeMark(this.#sequence + 1);
    } catch (thrown) {
      this.#isTailClean = false;
      // Half a record would be reported as damage at the next start, and a complete one would take effect although the append
      // failed.
      ftruncateSync(this.#fd, this.#end);
      throw thrown;
    }
    this.#end += length;
    // A file that is never read again needs no modification time.
    if (!this.#isTailClean) this.#modifiedMs = fstatSync(this.#fd).mtimeMs;
    this.#sequence = (this.#sequence + 1) >>> 0;
  }

  #close(): void {
    if (this.#fd !== -1) closeSync(this.#fd);
    this.#fd = -1;
    this.#inode = -1;
  }

  #logDamage(at: number, bytes: number): void {
    this.#damaged++;
    this.#options.log.error("a record of the state is damaged and was skipped", {
      file: this.file,
      at,
      bytes,
    });
  }

  #skip(sequence: number): void {
    if (this.#options.strict === true)
      throw this.#refusal(`record ${sequence} is not one this gpulse knows`);
    this.#options.log.error("a record of the state is not understood and was skipped", {
      file: this.file,
    });
  }

  #readHeader(value: unknown): void {
    const found =
      typeof value === "object" && value !== null && "version" in value ? value.version : undefined;
    if (typeof found === "number" && found > version)
      throw new GpulseError(
        "DATA_FOLDER",
        `${this.file} was written by a newer gpulse (state version ${found}, this one reads ${version}): update this one.`,
      );
    const generation =
      typeof value === "object" && value !== null && "generation" in value ? value.generation : 0;
    this.#generation = typeof generation === "number" ? generation : 0;
  }

  #full(): GpulseError {
    return new GpulseError(
      "DATA_FOLDER",
      `${this.file} would grow past ${this.#maxBytes} bytes: remove what is no longer needed.`,
    );
  }
}

const isBinary = (first: number | undefined): boolean =>
  first !== undefined && first >= 1 && first <= 8;

function framed(payload: unknown, sequence: number): Buffer {
  const bytes = unsealed(payload);
  sealFrame(bytes, 0, bytes.readUInt32LE(4), sequence);
  return bytes;
}

/** A frame with its length and payload, without a checksum yet. */
function unsealed(payload: unknown): Buffer {
  const text = JSON.stringify(payload);
  if (text === undefined) throw new TypeError("BUG: a state record must be a JSON value.");
  const payloadBytes = Buffer.byteLength(text);
  // Every byte is overwritten: the frame, the text, and the zeros after it.
  const bytes = Buffer.allocUnsafe(framedBytes(payloadBytes));
  bytes.writeUInt32LE(payloadBytes, 4);
  bytes.write(text, frameBytes);
  return bytes;
}
