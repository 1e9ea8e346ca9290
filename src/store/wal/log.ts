/**
 * The write-ahead log: numbered segment files of framed records. What `append` has returned for is in the kernel's hands
 * and outlives the process; `sync` puts it on the disk. A segment is allocated before it is needed, so that syncing
 * writes data and no metadata.
 */
import {
  closeSync,
  fdatasync,
  ftruncateSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { open } from "node:fs/promises";
import path from "node:path";
import { makeFolderSync } from "../../files/make-folder.ts";
import { systemCode } from "../../errors/error.ts";
import { StoreError } from "../error.ts";

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

export class WriteAheadLog {
  readonly #dir: string;
  readonly #segmentBytes: number;
  readonly #requireLock: () => void;
  #segment: number;
  #fd = -1;
  #used = 0;
  #size = 0;
  #sequence: number;
  #bytesSinceCut = 0;
  #syncing: Promise<void> | undefined;
  /** Why the segment before this one may not be on the disk. */
  #syncFailure: StoreError | undefined;
  #dirty = false;
  /** The present segment's name may not be on the disk yet. */
  #isNew = true;
  #spare: "none" | "making" | "ready" = "none";
  #making: Promise<void> = Promise.resolve();
  #closed = false;

  /** Begins with a new segment: what a crash may have torn is never written to again. */
  constructor(
    dir: string,
    segmentBytes: number,
    firstSegment: number,
    firstSequence: number,
    requireLock: () => void,
  ) {
    this.#dir = dir;
    this.#requireLock = requireLock;
    this.#segmentBytes = segmentBytes;
    this.#segment = firstSegment - 1;
    this.#sequence = firstSequence;
    makeFolderSync(dir);
    rmSync(this.#spareFile, { force: true });
    try {
      this.#rotate(0);
    } catch (thrown) {
      // On a full disk the first append makes the segment, when there is room again.
      if (this.#trouble(thrown).kind !== "full") throw thrown;
    }
  }

  get segment(): number {
    return this.#segment;
  }

  /** The number the next record shall carry. */
  get sequence(): number {
    return this.#sequence;
  }

  get bytesSinceCut(): number {
    return this.#bytesSinceCut;
  }

  /** Writes whole framed records. Throws, with nothing acknowledged, when the disk does not take them. */
  append(bytes: Buffer, length: number, records: number): void {
    if (this.#closed) throw new StoreError("closed", "The store is closed.");
    this.#requireLock();
    try {
      if (this.#used + length > this.#size) this.#rotate(length);
      for (let done = 0; done < length;)
        done += writeSync(this.#fd, bytes, done, length - done, this.#used + done);
    } catch (thrown) {
      throw this.#trouble(thrown);
    }
    this.#sequence = (this.#sequence + records) >>> 0;
    this.#used += length;
    this.#bytesSinceCut += length;
    this.#dirty = true;
    if (this.#used * 2 > this.#size && this.#spare === "none") this.#making = this.#makeSpare();
  }

  /** The segment from which on everything that follows is written. */
  cut(): number {
    this.#requireLock();
    try {
      this.#rotate(0);
    } catch (thrown) {
      throw this.#trouble(thrown);
    }
    this.#bytesSinceCut = 0;
    return this.#segment;
  }

  /** Resolves when everything appended so far is on the disk. */
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
    this.#syncing = (async () => {
      await new Promise<void>((resolve, reject) => {
        fdatasync(fd, (error) => (error === null ? resolve() : reject(this.#trouble(error))));
      });
      if (isNew) await this.#syncName();
    })().finally(() => {
      this.#syncing = undefined;
    });
    await this.#syncing;
  }

  /** Removes the segments before this one. */
  truncate(segment: number): void {
    for (const old of listSegments(this.#dir))
      if (old < segment) rmSync(segmentFile(this.#dir, old), { force: true });
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#making;
    await this.sync();
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
    rmSync(this.#spareFile, { force: true });
  }

  get #spareFile(): string {
    return path.join(this.#dir, "next.tmp");
  }

  #rotate(neededBytes: number): void {
    const size = Math.max(this.#segmentBytes, neededBytes);
    const file = segmentFile(this.#dir, this.#segment + 1);
    let fd: number;
    if (this.#spare === "ready" && size === this.#segmentBytes) {
      renameSync(this.#spareFile, file);
      this.#spare = "none";
      fd = openSync(file, "r+");
    } else {
      fd = openSync(file, "w");
      try {
        ftruncateSync(fd, size);
      } catch (thrown) {
        closeSync(fd);
        throw thrown;
      }
    }
    const [oldFd, wasDirty] = [this.#fd, this.#dirty];
    this.#fd = fd;
    this.#segment++;
    this.#used = 0;
    this.#size = size;
    this.#dirty = false;
    this.#isNew = true;
    if (oldFd < 0) return;
    // The old segment's data still has to reach the disk before anyone is told that it has.
    const before = this.#syncing;
    if (!wasDirty && before === undefined) return closeSync(oldFd);
    const finished = (async () => {
      await before?.catch(() => undefined);
      try {
        await new Promise<void>((resolve, reject) => {
          fdatasync(oldFd, (error) => (error === null ? resolve() : reject(this.#trouble(error))));
        });
        await this.#syncName();
      } finally {
        closeSync(oldFd);
      }
    })().finally(() => {
      if (this.#syncing === finished) this.#syncing = undefined;
    });
    // Nobody may be waiting for it: the next sync reports the failure.
    finished.catch((thrown: unknown) => {
      this.#syncFailure = this.#trouble(thrown);
    });
    this.#syncing = finished;
  }

  /** A segment outlives a power cut only when its name does. */
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
      const file = await open(this.#spareFile, "w");
      try {
        for (let at = 0; at < this.#segmentBytes && !this.#closed; at += zeros.length)
          await file.write(zeros, 0, Math.min(zeros.length, this.#segmentBytes - at), at);
        await file.datasync();
      } finally {
        await file.close();
      }
      this.#spare = "ready";
    } catch {
      // No room for a spare: the next segment is made when it is needed, and says so if it cannot be.
      rmSync(this.#spareFile, { force: true });
      this.#spare = "none";
    }
  }

  #trouble(thrown: unknown): StoreError {
    if (thrown instanceof StoreError) return thrown;
    const code = systemCode(thrown);
    if (code === "ENOSPC" || code === "EDQUOT" || code === "EFBIG")
      return new StoreError(
        "full",
        `The disk under ${this.#dir} is full: nothing of this write was kept. Make room; writing goes on by itself.`,
        { cause: thrown },
      );
    return new StoreError("unusable", `The log in ${this.#dir} cannot be written: ${code}.`, {
      cause: thrown,
    });
  }
}
