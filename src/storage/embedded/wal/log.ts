/**
 * The write-ahead log: numbered segment files of framed records. A record is in the kernel's page cache when `append`
 * returns, and survives the process; `sync` writes it to disk. A segment is allocated before it is needed, so that
 * syncing writes data and no metadata.
 */
import {
  closeSync,
  fdatasync,
  ftruncateSync,
  openSync,
  readdirSync,
  renameSync,
  writeSync,
} from "node:fs";
import { open } from "node:fs/promises";
import path from "node:path";
import { makeFolderSync } from "../../../base/make-folder.ts";
import { systemCode } from "../../../base/error.ts";
import { removeLeftover } from "../../../base/state/atomic.ts";
import { frameBytes, framedBytes, sealFrame } from "../../../base/state/record.ts";
import { StoreError } from "../error.ts";
import { AcknowledgedMark } from "./mark.ts";
import { segmentPayloadBytes, writeSegmentHeader } from "./records.ts";

const pattern = /^(\d{10})\.wal$/;
const zeros = Buffer.alloc(2 ** 20);
export const segmentFile = (dir: string, segment: number): string =>
  path.join(dir, `${String(segment).padStart(10, "0")}.wal`);

export function listSegments(dir: string): number[] {
  return readdirSync(dir)
    .flatMap((file) => pattern.exec(file)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
}

/** A position in the log: the number of the next record, and the number of samples logged before it. */
export interface LogPosition {
  readonly sequence: number;
  readonly samples: number;
}

export interface WalOptions {
  readonly dir: string;
  readonly storeId: string;
  readonly segmentBytes: number;
  readonly firstSegment: number;
  readonly first: LogPosition;
  /** Generation of the manifest. */
  readonly generation: number;
  /** The first segment in use, and its start position. */
  readonly from: LogPosition & { readonly segment: number };
  /** When a record is acknowledged: once written, or once on disk. */
  readonly durability: "process" | "power";
  /** Partly unreadable segments, which are set aside instead of removed. */
  readonly unreadable: readonly number[];
  readonly requireLock: () => void;
}

const segmentHeaderBytes = framedBytes(segmentPayloadBytes);

export class WriteAheadLog {
  readonly #dir: string;
  readonly #storeId: string;
  readonly #segmentBytes: number;
  readonly #marksOnSync: boolean;
  readonly #mark: AcknowledgedMark;
  readonly #requireLock: () => void;
  readonly #unreadable: ReadonlySet<number>;
  /** Start positions of segments that the manifest may refer to. */
  readonly #starts = new Map<number, LogPosition>();
  #samples: number;
  #segment: number;
  #fd = -1;
  #used = 0;
  #size = 0;
  #sequence: number;
  #bytesSinceCut = 0;
  #syncing: Promise<void> | undefined;
  /** Why the previous segment may not be on disk. */
  #syncFailure: StoreError | undefined;
  #dirty = false;
  /** True if the current segment's directory entry may not be on disk yet. */
  #isNew = true;
  #spare: "none" | "making" | "ready" = "none";
  #making: Promise<void> = Promise.resolve();
  #closed = false;

  /** Begins a new segment, because one that a crash may have torn is never appended to. */
  constructor(options: WalOptions) {
    const { dir, from } = options;
    this.#dir = dir;
    this.#storeId = options.storeId;
    this.#requireLock = options.requireLock;
    this.#segmentBytes = options.segmentBytes;
    this.#unreadable = new Set(options.unreadable);
    this.#marksOnSync = options.durability === "power";
    this.#segment = options.firstSegment - 1;
    this.#sequence = options.first.sequence;
    this.#samples = options.first.samples;
    this.#starts.set(from.segment, { sequence: from.sequence, samples: from.samples });
    makeFolderSync(dir, { mode: 0o700 });
    removeLeftover(this.#spareFile);
    this.#mark = new AcknowledgedMark(dir, this.#storeId, options.generation, options.first);
    this.#mark.write(options.first);
    try {
      this.#rotate(0);
    } catch (thrown) {
      // On a full disk the first append after space is available creates the segment.
      if (this.#problem(thrown).kind !== "full") throw thrown;
    }
  }

  get segment(): number {
    return this.#segment;
  }

  /** Sequence number of the next record. */
  get sequence(): number {
    return this.#sequence;
  }

  /** Number of samples logged so far, over all segments ever. */
  get samples(): number {
    return this.#samples;
  }

  /** Start position of a segment that was cut since startup, or of the first segment in use. */
  startOf(segment: number): LogPosition {
    const start = this.#starts.get(segment);
    if (start === undefined) throw new Error(`BUG: no cut began log segment ${segment}`);
    return start;
  }

  get bytesSinceCut(): number {
    return this.#bytesSinceCut;
  }

  /** Writes whole framed records. Throws, with nothing acknowledged, if the disk write fails. */
  append(bytes: Buffer, length: number, records: number, samples: number): void {
    if (this.#closed) throw new StoreError("closed", "The store is closed.");
    this.#requireLock();
    try {
      if (this.#used + length > this.#size) this.#rotate(length);
      for (let done = 0; done < length;)
        done += writeSync(this.#fd, bytes, done, length - done, this.#used + done);
    } catch (thrown) {
      throw this.#problem(thrown);
    }
    this.#sequence = (this.#sequence + records) >>> 0;
    this.#samples += samples;
    if (!this.#marksOnSync) this.#mark.write({ sequence: this.#sequence, samples: this.#samples });
    this.#used += length;
    this.#bytesSinceCut += length;
    this.#dirty = true;
    if (this.#used * 2 > this.#size && this.#spare === "none") this.#making = this.#makeSpare();
  }

  /** Records that a manifest was written, so that an earlier one is recognized as an older copy. */
  markGeneration(generation: number): void {
    this.#mark.setGeneration(generation);
  }

  /** Starts a new segment for all later records and returns its number. */
  cut(): number {
    this.#requireLock();
    try {
      this.#rotate(0);
    } catch (thrown) {
      throw this.#problem(thrown);
    }
    this.#bytesSinceCut = 0;
    this.#starts.set(this.#segment, { sequence: this.#sequence, samples: this.#samples });
    return this.#segment;
  }

  /** Resolves when everything appended so far is on disk. */
  async sync(): Promise<void> {
    while (this.#syncing !== undefined) await this.#syncing;
    if (this.#syncFailure !== undefined) {
      const failure = this.#syncFailure;
      this.#syncFailure = undefined;
      throw failure;
    }
    if (!this.#dirty || this.#fd < 0) return;
    this.#dirty = false;
    const fd = this.#fd;
    const isNew = this.#isNew;
    this.#isNew = false;
    const position = { sequence: this.#sequence, samples: this.#samples };
    const syncing = (async () => {
      await new Promise<void>((resolve, reject) => {
        fdatasync(fd, (error) => (error === null ? resolve() : reject(this.#problem(error))));
      });
      if (isNew) await this.#syncName();
      if (this.#marksOnSync) this.#mark.write(position);
    })().finally(() => {
      // A newer segment may have replaced this sync with the old segment's.
      if (this.#syncing === syncing) this.#syncing = undefined;
    });
    this.#syncing = syncing;
    await syncing;
  }

  /** Removes the segments before this one. */
  truncate(segment: number): void {
    for (const old of listSegments(this.#dir)) {
      if (old >= segment) continue;
      const file = segmentFile(this.#dir, old);
      if (this.#unreadable.has(old)) renameSync(file, `${file}.damaged`);
      else removeLeftover(file);
    }
    for (const old of this.#starts.keys()) if (old < segment) this.#starts.delete(old);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#making;
    try {
      await this.sync();
    } finally {
      if (this.#fd >= 0) closeSync(this.#fd);
      this.#fd = -1;
      this.#mark.close();
      removeLeftover(this.#spareFile);
    }
  }

  get #spareFile(): string {
    return path.join(this.#dir, "next.tmp");
  }

  #rotate(neededBytes: number): void {
    const size = Math.max(this.#segmentBytes, segmentHeaderBytes + neededBytes);
    const file = segmentFile(this.#dir, this.#segment + 1);
    // Before the segment, so that a segment without a mark means a lost mark.
    this.#mark.open();
    let fd: number;
    if (this.#spare === "ready" && size === this.#segmentBytes) {
      renameSync(this.#spareFile, file);
      this.#spare = "none";
      fd = openSync(file, "r+");
    } else fd = openSync(file, "w", 0o600);
    try {
      ftruncateSync(fd, size);
      this.#writeHeader(fd, this.#segment + 1);
    } catch (thrown) {
      closeSync(fd);
      throw thrown;
    }
    const [oldFd, wasDirty] = [this.#fd, this.#dirty];
    this.#fd = fd;
    this.#segment++;
    this.#used = segmentHeaderBytes;
    this.#size = size;
    this.#dirty = false;
    this.#isNew = true;
    if (oldFd < 0) return;
    // The old segment's data must be on disk before it is acknowledged as durable.
    const before = this.#syncing;
    if (!wasDirty && before === undefined) return closeSync(oldFd);
    const finished = (async () => {
      await before?.catch(() => undefined);
      try {
        await new Promise<void>((resolve, reject) => {
          fdatasync(oldFd, (error) => (error === null ? resolve() : reject(this.#problem(error))));
        });
        await this.#syncName();
      } finally {
        closeSync(oldFd);
      }
    })().finally(() => {
      if (this.#syncing === finished) this.#syncing = undefined;
    });
    // There may be no caller waiting; the next sync reports the failure.
    finished.catch((thrown: unknown) => {
      this.#syncFailure = this.#problem(thrown);
    });
    this.#syncing = finished;
  }

  #writeHeader(fd: number, segment: number): void {
    const bytes = Buffer.alloc(segmentHeaderBytes);
    const header = { storeId: this.#storeId, segment, samplesBefore: this.#samples };
    sealFrame(bytes, 0, writeSegmentHeader(bytes, frameBytes, header), this.#sequence);
    for (let done = 0; done < bytes.length;)
      done += writeSync(fd, bytes, done, bytes.length - done, done);
  }

  /** A segment survives a power cut only if its directory entry does. */
  async #syncName(): Promise<void> {
    if (process.platform === "win32") return;
    const folder = await open(this.#dir, "r");
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }

  async #makeSpare(): Promise<void> {
    this.#spare = "making";
    try {
      const file = await open(this.#spareFile, "w", 0o600);
      try {
        for (let at = 0; at < this.#segmentBytes && !this.#closed; at += zeros.length)
          await file.write(zeros, 0, Math.min(zeros.length, this.#segmentBytes - at), at);
        await file.datasync();
      } finally {
        await file.close();
      }
      this.#spare = "ready";
    } catch {
      // No space for a spare: the next segment is created on demand, and may fail then.
      removeLeftover(this.#spareFile);
      this.#spare = "none";
    }
  }

  #problem(thrown: unknown): StoreError {
    if (thrown instanceof StoreError) return thrown;
    const code = systemCode(thrown);
    if (code === "ENOSPC" || code === "EDQUOT" || code === "EFBIG")
      return new StoreError(
        "full",
        `The disk under ${this.#dir} is full: nothing of this write was stored. Free space; writing resumes automatically.`,
        { cause: thrown },
      );
    return new StoreError("unusable", `The log in ${this.#dir} cannot be written: ${code}.`, {
      cause: thrown,
    });
  }
}
