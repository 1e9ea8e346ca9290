/**
 * Gathers rows by table and day, and writes each lot as a file. Nothing is held for longer than its bound in memory allows,
 * and flush() resolves only when all accepted rows are in files. Rows out of a log are written once, however often it is read.
 */
import { retryUntilDone } from "../net/objects/retry.ts";
import type { FileStore } from "../net/objects/store.ts";
import type { SampleBatch } from "../formats/samples/batch.ts";
import type { Log } from "../base/log.ts";
import type { Origin } from "../model/origin.ts";
import { Coverage } from "./coverage.ts";
import { rowGroupRows } from "./encode.ts";
import { type FrameRows, Gatherer, type RowsAt } from "./gather.ts";
import { dateOf, type OffsetRange, partitionFolder, plainName, rangeName } from "./names.ts";
import { GrowingRows, type TableName } from "./table.ts";
import type { LakeWorker } from "./job.ts";

export interface LakeWriterOptions {
  readonly files: FileStore;
  readonly workers: LakeWorker;
  /** Names the files of this writer: two that write at once must not have the same. */
  readonly id: string;
  readonly version: string;
  readonly log: Log;
  readonly nowMs: () => number;
  /** 0 up to 1. */
  readonly random: () => number;
  /** Of one file. */
  readonly maxRows?: number;
  /** Held in memory before a write is waited for. */
  readonly maxBytes?: number;
  /** Whether series without a column are written to the long table. */
  readonly series?: boolean;
  readonly onWritten?: (path: string) => void;
}

/** Rows of one table and day, out of one partition of a log or out of none. */
interface Lot {
  readonly table: TableName;
  readonly date: string;
  readonly rows: GrowingRows;
  range?: OffsetRange;
}

interface SealedFile {
  readonly path: string;
  readonly rows: GrowingRows;
  encoded?: Uint8Array;
}

/** A partition of a log as far as it was read. */
interface PartitionProgress {
  last: number;
  readonly dates: Set<string>;
}

export interface LakeCounts {
  rows: number;
  files: number;
  bytes: number;
  /** Frames whose rows were there already. */
  repeated: number;
}

export class LakeWriter {
  readonly counts: LakeCounts = { rows: 0, files: 0, bytes: 0, repeated: 0 };
  readonly #options: LakeWriterOptions;
  readonly #maxRows: number;
  readonly #maxBytes: number;
  readonly #gatherer = new Gatherer();
  readonly #coverage: Coverage;
  readonly #lots = new Map<string, Lot>();
  readonly #readings = new Map<string, PartitionProgress>();
  readonly #sealed: SealedFile[] = [];
  readonly #startMs: number;
  #sequence = 0;
  #writing: Promise<void> | undefined;
  /** Of a write that nobody waited for. */
  #problem: unknown;

  constructor(options: LakeWriterOptions) {
    this.#options = options;
    this.#maxRows = options.maxRows ?? rowGroupRows;
    this.#maxBytes = options.maxBytes ?? 128 * 2 ** 20;
    this.#coverage = new Coverage(options.files, options.log);
    this.#startMs = options.nowMs();
  }

  /** Takes a frame; waits where memory is full. */
  async take(frame: FrameRows, origin: Origin | undefined, signal: AbortSignal): Promise<void> {
    const problem = this.#problem;
    this.#problem = undefined;
    if (problem !== undefined) throw problem as Error;
    if (origin === undefined) this.put(frame);
    else await this.#takeFromLog(frame, origin, signal);
    if (this.heldBytes > this.#maxBytes) await this.flush(signal);
    else if (this.#sealed.length > 0 && this.#writing === undefined)
      // Not awaited, there is room: the next caller gets the failure.
      this.#write(signal).catch((thrown: unknown) => (this.#problem = thrown));
  }

  /** Accepts a frame that is in no log, without waiting: the caller flushes in time. */
  put(frame: FrameRows): void {
    this.#gatherer.frame(frame, this.#rowsAt(undefined));
    this.#sealFull();
  }

  putSamples(batch: SampleBatch): void {
    this.#gatherer.samples(batch, this.#rowsAt(undefined));
    this.#sealFull();
  }

  /** What waits to be written, about. */
  get heldBytes(): number {
    let bytes = 0;
    for (const { rows } of this.#lots.values()) bytes += rows.bytes;
    for (const { rows, encoded } of this.#sealed) bytes += encoded?.length ?? rows.bytes;
    return bytes;
  }

  /** Resolves when all accepted rows are in files. Waits for a store that is full or unavailable; rejects where a write can never succeed. */
  async flush(signal: AbortSignal): Promise<void> {
    for (const key of this.#lots.keys()) this.#seal(key);
    await this.#write(signal);
  }

  /** Drops the oldest rows, for a store that has been unavailable for too long. Returns how many. */
  dropOldest(): number {
    const [oldest] =
      this.#writing === undefined ? this.#sealed.splice(0, 1) : this.#sealed.splice(1, 1);
    return oldest?.rows.count ?? 0;
  }

  async #takeFromLog(frame: FrameRows, origin: Origin, signal: AbortSignal): Promise<void> {
    const key = `${origin.log}\u0000${origin.partition}`;
    const date = dateOf(frame.frame.timeMs);
    let reading = this.#readings.get(key);
    // A leap means that another process had the partition meanwhile: a name must not claim the offsets that it read.
    if (reading === undefined || origin.offset < reading.last || origin.offset > reading.last + 1) {
      this.#sealLog(key);
      this.#options.workers.prepare?.();
      reading = { last: origin.offset, dates: new Set() };
      this.#readings.set(key, reading);
    }
    if (!reading.dates.has(date)) {
      await retryUntilDone(this.#options, signal, async () => {
        await this.#coverage.load("gpu", date, signal);
        await this.#coverage.load("series", date, signal);
      });
      reading.dates.add(date);
    }
    reading.last = origin.offset;
    const known = this.#coverage.has("gpu", date, origin);
    if (known) this.counts.repeated++;
    this.#gatherer.frame(frame, this.#rowsAt(origin));
    const full = [...this.#lots.values()].some(
      ({ range, rows }) =>
        range?.log === origin.log &&
        range.partition === origin.partition &&
        rows.count >= this.#maxRows,
    );
    if (full) this.#sealLog(key);
  }

  #rowsAt(origin: Origin | undefined): RowsAt {
    const suffix = origin === undefined ? "" : `${origin.log}\u0000${origin.partition}`;
    return (table, timeMs) => {
      if (table === "series" && this.#options.series === false) return undefined;
      const date = dateOf(timeMs);
      if (origin !== undefined && this.#coverage.has(table, date, origin)) return undefined;
      const key = `${table}/${date}/${suffix}`;
      let lot = this.#lots.get(key);
      if (lot === undefined)
        this.#lots.set(key, (lot = { table, date, rows: new GrowingRows(table) }));
      if (origin !== undefined) {
        const { log, partition, offset } = origin;
        lot.range = { log, partition, first: lot.range?.first ?? offset, last: offset };
      }
      return lot.rows;
    };
  }

  #sealFull(): void {
    for (const [key, { rows, range }] of this.#lots)
      if (range === undefined && rows.count >= this.#maxRows) this.#seal(key);
  }

  #sealLog(suffix: string): void {
    for (const key of this.#lots.keys()) if (key.endsWith(`/${suffix}`)) this.#seal(key);
  }

  #seal(key: string): void {
    const lot = this.#lots.get(key);
    if (lot === undefined) return;
    this.#lots.delete(key);
    const { table, date, rows, range } = lot;
    if (rows.count === 0) return;
    const name =
      range === undefined
        ? plainName(this.#options.id, this.#startMs, this.#sequence++)
        : rangeName(range);
    if (range !== undefined) this.#coverage.add(table, date, range);
    this.#sealed.push({ path: partitionFolder(table, date) + name, rows });
  }

  /** One after the other, in order; who comes while it is going on waits for its own too. */
  async #write(signal: AbortSignal): Promise<void> {
    while (this.#sealed.length > 0) {
      this.#writing ??= this.#writeAll(signal).finally(() => (this.#writing = undefined));
      await this.#writing;
    }
    await this.#writing;
  }

  async #writeAll(signal: AbortSignal): Promise<void> {
    for (let next = this.#sealed[0]; next !== undefined; next = this.#sealed[0]) {
      const { workers, version } = this.#options;
      next.encoded ??= (
        await workers.run({ kind: "encode", rows: next.rows.finish(), version })
      ).bytes;
      const { path, encoded } = next;
      await retryUntilDone(this.#options, signal, () =>
        this.#options.files.write(path, encoded, signal),
      );
      this.#options.onWritten?.(next.path);
      this.counts.rows += next.rows.count;
      this.counts.files++;
      this.counts.bytes += next.encoded.length;
      if (this.#sealed[0] === next) this.#sealed.shift();
    }
  }
}
