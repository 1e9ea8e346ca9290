/**
 * A bounded FIFO queue of opaque records on disk that survives outages and kills. Once `append` has returned a position,
 * the record is in the kernel's page cache; an acknowledged record is never read again. Beyond the limits the oldest
 * records are dropped and counted.
 */
import {
  closeSync,
  existsSync,
  fdatasync,
  ftruncateSync,
  openSync,
  rmSync,
  truncateSync,
  writeSync,
} from "node:fs";
import { formatError, systemCode } from "../../base/error.ts";
import { TrustedClock } from "../../base/state/trusted-clock.ts";
import type { OpenedSpool, SpoolOptions } from "./open.ts";
import { type DropCounts, Drops } from "./drops.ts";
import {
  addPending,
  diskBytesOf,
  encodeRecord,
  newSegment,
  readSegment,
  removePending,
  type Segment,
  segmentFile,
  type SpoolRecord,
} from "./segment.ts";

export interface SpoolStats {
  /** Size of the pending records; the files may take more. */
  readonly bytes: number;
  readonly diskBytes: number;
  readonly records: number;
  readonly samples: number;
  /** Absent if no record is pending. */
  readonly oldestTimeMs?: number;
  readonly dropped: DropCounts;
  readonly damagedBytes: number;
}

/** The records of the first segment that are in memory, and how many of them are acknowledged. */
interface Window {
  readonly segment: Segment;
  readonly records: readonly SpoolRecord[];
  readonly end: number;
  at: number;
}

const syncAfterMs = 1_000;
/** The trusted clock advances at most a minute between two observations. */
const observeEveryMs = 30_000;
const takenOver =
  "the folder has been taken over by another process: stop one of the two, then restart this one";
const fullCodes = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

export class Spool {
  readonly #options: SpoolOptions;
  readonly #opened: OpenedSpool;
  readonly #segmentBytes: number;
  readonly #segments: Segment[];
  readonly #drops: Drops;
  /** Decides the age of records: a wall clock that is days ahead for a moment must not empty the spool. */
  readonly #trustedClock: TrustedClock;
  readonly #waiting = new Set<() => void>();
  readonly #wantRoom: (() => void)[] = [];
  #fd: number | undefined;
  #nextPosition: number;
  #readTo = 0;
  #window: Window | undefined;
  #buffer = Buffer.alloc(16_384);
  #cancelSync: (() => void) | undefined;
  #cancelObserve: () => void = () => {};
  #cursorReported = false;
  #closed = false;

  constructor(options: SpoolOptions, opened: OpenedSpool) {
    this.#options = options;
    this.#opened = opened;
    this.#segments = opened.segments;
    this.#nextPosition = opened.nextPosition;
    this.#segmentBytes =
      options.segmentBytes ??
      Math.max(4_096, Math.min(4 * 2 ** 20, Math.floor(options.maxBytes / 16)));
    const { clock } = options;
    this.#drops = new Drops(options.name ?? options.dir, options.log, () => clock.monotonicMs());
    this.#drops.counts.damaged.records += opened.damagedRecords;
    const newestMs = Math.max(...opened.segments.map(({ newestTimeMs }) => newestTimeMs));
    this.#trustedClock = new TrustedClock({
      nowMs: () => clock.nowMs(),
      monotonicMs: () => clock.monotonicMs(),
      startMs: newestMs === -Infinity ? undefined : newestMs,
    });
    this.#observe();
    this.#saveCursor();
  }

  /** Unchanged for as long as the positions of this folder keep their meaning. */
  get id(): string {
    return this.#opened.cursor.id;
  }

  /** Position of the next record. */
  get nextPosition(): number {
    return this.#nextPosition;
  }

  /**
   * Returns the record's position, or undefined if the record was dropped and counted: it exceeds the limit, or the disk
   * is full.
   */
  append(bytes: Uint8Array, samples: number): number | undefined {
    if (this.#closed) throw new Error("BUG: a closed spool is appended to");
    const record: SpoolRecord = {
      position: this.#nextPosition,
      timeMs: this.#trustedClock.nowMs(),
      samples,
      bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
    };
    if (this.#isTakenOver) return this.#refuse("disk", record, takenOver);
    const length = diskBytesOf(bytes.length);
    if (length > this.#options.maxBytes) return this.#refuse("full", record);
    this.#dropOld();
    let fits = true;
    while (this.#diskBytes() + length > this.#options.maxBytes) {
      fits = false;
      if (!this.#dropFirst("full")) break;
    }
    if (!this.#write(record, length)) return undefined;
    if (fits) this.#drops.over();
    this.#wake();
    return record.position;
  }

  /** Resolves when a record of this size fits without dropping another one. Rejects if it can never fit. */
  async room(bytes: number): Promise<void> {
    const length = diskBytesOf(bytes);
    while (!this.#closed && !this.#fits(length))
      await new Promise<void>((resolve) => this.#wantRoom.push(resolve));
    if (this.#closed) throw new Error("the spool is closed");
  }

  /** Returns the oldest pending records, about `maxBytes` of them and at least one. Nothing is removed. */
  read(maxBytes: number): readonly SpoolRecord[] {
    if (this.#isTakenOver) return [];
    this.#dropOld();
    const oldestMs = this.#trustedClock.nowMs() - this.#options.maxAgeMs;
    for (let window = this.#load(); window !== undefined; window = this.#load()) {
      for (; (window.records[window.at]?.timeMs ?? Infinity) < oldestMs; window.at++) {
        const aged = window.records[window.at] as SpoolRecord;
        this.#drops.count("old", 1, aged.samples);
        this.#opened.cursor.position = aged.position;
        removePending(window.segment, aged);
      }
      if (window.at === window.records.length) {
        this.#leave(window);
        continue;
      }
      let [end, bytes] = [window.at, 0];
      while (end < window.records.length) {
        bytes += (window.records[end] as SpoolRecord).bytes.length;
        if (end > window.at && bytes > maxBytes) break;
        end++;
      }
      const records = window.records.slice(window.at, end);
      this.#readTo = Math.max(this.#readTo, records.at(-1)?.position ?? 0);
      return records;
    }
    return [];
  }

  /** Acknowledges all records up to this position; they are not read again, even after a restart. */
  acknowledge(position: number): void {
    if (this.#isTakenOver) return;
    const { cursor } = this.#opened;
    cursor.position = Math.max(cursor.position, Math.min(position, this.#readTo));
    const window = this.#window;
    if (window !== undefined) {
      for (; window.at < window.records.length; window.at++) {
        const record = window.records[window.at] as SpoolRecord;
        if (record.position > cursor.position) break;
        removePending(window.segment, record);
      }
    }
    this.#saveCursor();
    if (window !== undefined && window.at === window.records.length) this.#leave(window);
    for (const call of this.#wantRoom.splice(0)) call();
  }

  /** Resolves when a record is pending or the signal aborts. */
  async readable(signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#segments.some(({ records }) => records > 0)) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.#waiting.delete(done);
        signal.removeEventListener("abort", done);
        resolve();
      };
      this.#waiting.add(done);
      signal.addEventListener("abort", done);
    });
  }

  stats(): SpoolStats {
    let [bytes, records, samples] = [0, 0, 0];
    for (const segment of this.#segments) {
      bytes += segment.pendingBytes;
      records += segment.records;
      samples += segment.samples;
    }
    const oldest =
      this.#window?.records[this.#window.at]?.timeMs ??
      this.#segments.find((segment) => segment.records > 0)?.oldestTimeMs;
    return {
      bytes,
      diskBytes: this.#diskBytes(),
      records,
      samples,
      ...(records > 0 && oldest !== undefined && { oldestTimeMs: oldest }),
      dropped: this.#drops.counts,
      damagedBytes: this.#opened.damagedBytes,
    };
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#cancelSync?.();
    this.#cancelObserve();
    const fd = this.#fd;
    this.#fd = undefined;
    if (fd !== undefined) await syncAndClose(fd);
    this.#opened.cursor.close();
    this.#wake();
    for (const call of this.#wantRoom.splice(0)) call();
    this.#opened.lock?.release();
  }

  #observe(): void {
    this.#trustedClock.nowMs();
    this.#cancelObserve = this.#options.clock.after(observeEveryMs, () => this.#observe());
  }

  /**
   * True if another process holds the folder's lock: from then on writes, removals and acknowledgements would change its
   * data.
   */
  get #isTakenOver(): boolean {
    return this.#opened.lock?.isHeld() === false;
  }

  #wake(): void {
    for (const call of this.#waiting) call();
  }

  /** A fully sent file may still use disk space. If no record is pending, dropping that file loses nothing. */
  #fits(length: number): boolean {
    return (
      this.#diskBytes() + length <= this.#options.maxBytes ||
      this.#segments.every(({ records }) => records === 0)
    );
  }

  #diskBytes(): number {
    let bytes = 0;
    for (const segment of this.#segments) bytes += segment.diskBytes;
    return bytes;
  }

  #write(record: SpoolRecord, length: number): boolean {
    if (this.#buffer.length < length) this.#buffer = Buffer.alloc(length);
    const framed = this.#buffer.subarray(0, encodeRecord(this.#buffer, record));
    // Releases the large buffer of a large record.
    if (length > 2 ** 20) this.#buffer = Buffer.alloc(16_384);
    for (let attempt = 0; ; attempt++) {
      try {
        const segment = this.#segmentFor(length, record.position);
        for (let done = 0; done < framed.length;)
          done += writeSync(
            this.#fd as number,
            framed,
            done,
            framed.length - done,
            segment.diskBytes + done,
          );
        segment.diskBytes += framed.length;
        addPending(segment, record);
        this.#nextPosition++;
        this.#cancelSync ??= this.#options.clock.after(syncAfterMs, () => this.#sync());
        return true;
      } catch (thrown) {
        this.#undo();
        // Frees one file for one record and no more, because other data may be what fills the disk.
        const mayDrop = fullCodes.has(systemCode(thrown) ?? "") && this.#segments.length > 1;
        if (attempt === 0 && mayDrop && this.#dropFirst("disk")) continue;
        this.#refuse("disk", record, formatError(thrown));
        return false;
      }
    }
  }

  /** Returns the segment to write to, with room for `length` bytes. */
  #segmentFor(length: number, position: number): Segment {
    const active = this.#fd === undefined ? undefined : this.#segments.at(-1);
    if (active !== undefined && active.diskBytes + length <= this.#segmentBytes) return active;
    const fd = openSync(segmentFile(this.#options.dir, position), "w");
    this.#seal();
    this.#fd = fd;
    const segment = newSegment(position);
    this.#segments.push(segment);
    return segment;
  }

  /** Removes a partly written record; if that fails, seals the file. */
  #undo(): void {
    const active = this.#segments.at(-1);
    if (this.#fd === undefined || active === undefined) return;
    try {
      ftruncateSync(this.#fd, active.diskBytes);
    } catch {
      this.#seal();
    }
  }

  #seal(): void {
    const fd = this.#fd;
    if (fd === undefined) return;
    this.#fd = undefined;
    void syncAndClose(fd);
    const sealed = this.#segments.at(-1);
    if (sealed?.records === 0) this.#remove(sealed);
  }

  #sync(): void {
    this.#cancelSync = undefined;
    if (this.#fd !== undefined) fdatasync(this.#fd, () => undefined);
  }

  #refuse(reason: "full" | "disk", record: SpoolRecord, problem?: string): undefined {
    this.#drops.count(reason, 1, record.samples, problem);
  }

  #dropOld(): void {
    const oldestMs = this.#trustedClock.nowMs() - this.#options.maxAgeMs;
    for (;;) {
      const first = this.#segments[0];
      if (first === undefined || first.records === 0 || first.newestTimeMs >= oldestMs) return;
      this.#dropFirst("old");
    }
  }

  #dropFirst(reason: "full" | "old" | "disk"): boolean {
    const first = this.#segments[0];
    if (first === undefined) return false;
    if (this.#segments.length === 1) this.#seal();
    if (first.records > 0) this.#drops.count(reason, first.records, first.samples);
    this.#remove(first);
    return true;
  }

  #remove(segment: Segment): void {
    const index = this.#segments.indexOf(segment);
    if (index === -1) return;
    this.#segments.splice(index, 1);
    if (this.#window?.segment === segment) this.#window = undefined;
    const file = segmentFile(this.#options.dir, segment.first);
    try {
      // The file may still be open for its last sync; truncating it frees its space at once.
      if (existsSync(file)) truncateSync(file, 0);
      rmSync(file, { force: true });
    } catch (thrown) {
      this.#options.log.warn("a file of the spool cannot be removed", {
        error: formatError(thrown),
      });
    }
  }

  /** Loads the first segment's pending records; skips segments that turn out to hold none. */
  #load(): Window | undefined {
    while (this.#window === undefined) {
      const segment = this.#segments[0];
      if (segment === undefined) return undefined;
      const isActive = this.#segments.length === 1 && this.#fd !== undefined;
      if (segment.records === 0) {
        if (isActive) return undefined;
        this.#remove(segment);
        continue;
      }
      const { records, end } = this.#tryRead(segment);
      const samples = records.reduce((sum, record) => sum + record.samples, 0);
      if (records.length < segment.records) {
        this.#drops.count("damaged", segment.records - records.length, segment.samples - samples);
        segment.records = records.length;
        segment.samples = samples;
        segment.pendingBytes = records.reduce(
          (sum, { bytes }) => sum + diskBytesOf(bytes.length),
          0,
        );
      }
      if (records.length > 0) this.#window = { segment, records, end, at: 0 };
      else segment.readFrom = segment.diskBytes;
    }
    return this.#window;
  }

  #tryRead(segment: Segment): { records: readonly SpoolRecord[]; end: number } {
    const { dir, log } = this.#options;
    try {
      return readSegment(dir, segment.first, segment.readFrom, this.#opened.cursor.position);
    } catch (thrown) {
      log.error("a file of the spool cannot be read", { error: formatError(thrown) });
      return { records: [], end: segment.diskBytes };
    }
  }

  /** Moves on to the next records after the whole window is acknowledged. */
  #leave(window: Window): void {
    const { segment } = window;
    this.#window = undefined;
    segment.readFrom = window.end;
    segment.oldestTimeMs =
      segment.records === 0 ? Infinity : (window.records.at(-1)?.timeMs ?? segment.oldestTimeMs);
    const isActive = segment === this.#segments.at(-1) && this.#fd !== undefined;
    if (segment.records === 0 && !isActive) this.#remove(segment);
  }

  #saveCursor(): void {
    try {
      this.#opened.cursor.save();
      this.#cursorReported = false;
    } catch (thrown) {
      if (!this.#cursorReported)
        this.#options.log.warn(
          "the acknowledged position cannot be stored: a restart would send records again",
          { spool: this.#options.name ?? this.#options.dir, error: formatError(thrown) },
        );
      this.#cursorReported = true;
    }
  }
}

function syncAndClose(fd: number): Promise<void> {
  return new Promise((resolve) => {
    fdatasync(fd, () => {
      closeSync(fd);
      resolve();
    });
  });
}
