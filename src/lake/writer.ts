/**
 * Collects rows by table and day, and writes all lots of a flush as files of one commit. Memory is bounded, and flush() resolves
 * only when all accepted rows are in files. Rows from a log are written once, however often the log is read.
 */
import { randomUUID } from "node:crypto";
import { retryUntilDone } from "../net/objects/retry.ts";
import type { FileStore } from "../net/objects/store.ts";
import type { SampleBatch } from "../formats/samples/batch.ts";
import type { Log } from "../base/log.ts";
import type { Origin } from "../model/origin.ts";
import { type CommittedFile, stagedPath } from "./commit.ts";
import { Coverage, type DayCoverage } from "./coverage.ts";
import { rowGroupRows } from "./encode.ts";
import { type FrameRows, Gatherer, type RowsAt } from "./gather.ts";
import { dateOf, type OffsetRange, originName, partitionFolder, plainName } from "./names.ts";
import { abandonedMs, type LakeChange, LakeManifest } from "./manifest.ts";
import { selectRows } from "./order.ts";
import { subtractRanges } from "./ranges.ts";
import { metadataKeys } from "./schema.ts";
import { type CommittedTable, GrowingRows } from "./table.ts";
import type { LakeWorker } from "./job.ts";

export interface LakeWriterOptions {
  readonly files: FileStore;
  readonly workers: LakeWorker;
  /** Part of this writer's file names: must be unique among concurrent writers. */
  readonly id: string;
  readonly version: string;
  readonly log: Log;
  readonly nowMs: () => number;
  /** A number from 0 up to 1. */
  readonly random: () => number;
  /** Rows of one file. */
  readonly maxRows?: number;
  /** Memory limit after which a write is awaited. */
  readonly maxBytes?: number;
  /** Whether series without a column are written to the long table. */
  readonly series?: boolean;
  readonly onWritten?: (path: string) => void;
  /** Shared with other parts of this process; its own if absent. */
  readonly manifest?: LakeManifest;
}

/** Rows of one table and day, from one log partition or from no log. */
interface Lot {
  readonly table: CommittedTable;
  readonly date: string;
  readonly rows: GrowingRows;
  /** Absent for rows that are not from a log. */
  readonly origin?: LotOrigin;
}

/** The log partition of a lot's rows, and the offsets that they reach over. */
interface LotOrigin {
  readonly partition: LogPartition;
  readonly coverage: DayCoverage;
  readonly first: number;
  last: number;
}

type LogPartition = Pick<Origin, "log" | "logId" | "partition">;

/** A lot that receives no more rows. */
interface SealedLot {
  readonly table: CommittedTable;
  readonly date: string;
  readonly rows: GrowingRows;
  /** The range of offsets and what is stored of its day; absent for rows that are not from a log. */
  readonly origin?: { readonly range: OffsetRange; readonly coverage: DayCoverage };
  /** The file name if the rows are not from a log. */
  readonly name: string;
  staged?: StagedLot;
}

/** The rows of a lot that no other process has committed, in a file outside the tables. */
interface StagedLot {
  readonly file: CommittedFile;
  /** The number of rows from the lot: another commit may have included some meanwhile. */
  readonly rowCount: number;
  readonly first: number | undefined;
  readonly stagedMs: number;
}

/** The read progress of a log partition. */
interface PartitionProgress {
  readonly partition: LogPartition;
  readonly suffix: string;
  last: number;
  readonly days: Map<string, PartitionDay>;
  /** Adds the rows of the record at `last`. */
  readonly rowsAt: RowsAt;
}

/** What is looked up for every row of a log partition and day, once. */
interface PartitionDay {
  readonly date: string;
  readonly coverage: Readonly<Record<CommittedTable, DayCoverage>>;
  readonly lotKeys: Readonly<Record<CommittedTable, string>>;
}

export interface LakeCounts {
  rows: number;
  files: number;
  bytes: number;
  /** Frames whose rows were already stored. */
  repeated: number;
}

/** Frames of a file that is read at once: the encoder's thread starts meanwhile, and not when the last row has been read. */
const prepareAfterFrames = 10_000;

export class LakeWriter {
  readonly counts: LakeCounts = { rows: 0, files: 0, bytes: 0, repeated: 0 };
  readonly #options: LakeWriterOptions;
  readonly #maxRows: number;
  readonly #maxBytes: number;
  readonly #gatherer = new Gatherer();
  readonly #manifest: LakeManifest;
  readonly #coverage: Coverage;
  readonly #lots = new Map<string, Lot>();
  readonly #readings = new Map<string, PartitionProgress>();
  readonly #plainRowsAt: RowsAt = (table, timeMs) => this.#plainRows(table, timeMs);
  readonly #sealed: SealedLot[] = [];
  readonly #startMs: number;
  /** The log partition of the newest record. */
  #latest: { readonly partition: LogPartition; readonly suffix: string } = {
    partition: { log: "", partition: -1 },
    suffix: "",
  };
  #sequence = 0;
  #takenSinceFlush = 0;
  #writing: Promise<void> | undefined;
  /** The first sealed lots and the id of their commit: after a failure its outcome is unknown, so the same commit is retried. */
  #committing: { readonly id: string; readonly lots: readonly SealedLot[] } | undefined;
  /** The error of a write that was not awaited. */
  #problem: unknown;

  constructor(options: LakeWriterOptions) {
    this.#options = options;
    this.#maxRows = options.maxRows ?? rowGroupRows;
    this.#maxBytes = options.maxBytes ?? 128 * 2 ** 20;
    this.#manifest = options.manifest ?? new LakeManifest(options);
    this.#coverage = new Coverage(this.#manifest);
    this.#startMs = options.nowMs();
  }

  /** Adds a frame; waits if memory is full. */
  async take(frame: FrameRows, origin: Origin | undefined, signal: AbortSignal): Promise<void> {
    const problem = this.#problem;
    this.#problem = undefined;
    if (problem !== undefined) throw problem as Error;
    if (origin === undefined) this.#takePlain(frame);
    else await this.#takeFromLog(frame, origin, signal);
    if (this.heldBytes > this.#maxBytes) await this.flush(signal);
    else if (this.#sealed.length > 0 && this.#writing === undefined)
      // Not awaited, since there is room: the next call throws the error.
      this.#write(signal).catch((thrown: unknown) => (this.#problem = thrown));
  }

  #takePlain(frame: FrameRows): void {
    this.put(frame);
    if (++this.#takenSinceFlush === prepareAfterFrames) this.#options.workers.prepare?.();
  }

  /** Adds a frame that is not from a log, without waiting: the caller flushes in time. */
  put(frame: FrameRows): void {
    this.#gatherer.frame(frame, this.#plainRowsAt);
    this.#sealFull();
  }

  putSamples(batch: SampleBatch): void {
    this.#gatherer.samples(batch, this.#plainRowsAt);
    this.#sealFull();
  }

  /** The approximate size of the rows that wait to be written. */
  get heldBytes(): number {
    let bytes = 0;
    for (const { rows } of this.#lots.values()) bytes += rows.bytes;
    for (const { rows } of this.#sealed) bytes += rows.bytes;
    return bytes;
  }

  /**
   * Resolves when all accepted rows are in files. Waits for a store that is full or unavailable; rejects if a write can never
   * succeed.
   */
  async flush(signal: AbortSignal): Promise<void> {
    this.#takenSinceFlush = 0;
    for (const key of this.#lots.keys()) this.#seal(key);
    await this.#write(signal);
  }

  /** Drops the oldest rows, for a store that has been unavailable for too long. Returns their number. */
  dropOldest(): number {
    const [oldest] = this.#sealed.splice(this.#committing?.lots.length ?? 0, 1);
    return oldest?.rows.count ?? 0;
  }

  async #takeFromLog(frame: FrameRows, origin: Origin, signal: AbortSignal): Promise<void> {
    const suffix = this.#suffixOf(origin);
    let reading = this.#readings.get(suffix);
    const { since = origin.offset } = origin;
    // A gap means that another process had the partition meanwhile: a file must not claim the offsets that it read.
    if (reading === undefined || origin.offset < reading.last || since > reading.last + 1) {
      this.#sealLog(suffix);
      this.#options.workers.prepare?.();
      this.#readings.set(suffix, (reading = this.#newReading(origin, suffix)));
    }
    // The time of its rows, which are at whole milliseconds.
    const date = dateOf(Math.round(frame.frame.timeMs));
    let day = reading.days.get(date);
    if (day === undefined) {
      await retryUntilDone(this.#options, signal, () => this.#manifest.refresh(signal));
      day = this.#dayOf(reading, date);
    }
    reading.last = origin.offset;
    if (day.coverage.gpu.has(origin.offset)) this.counts.repeated++;
    this.#gatherer.frame(frame, reading.rowsAt);
    for (const key of [day.lotKeys.gpu, day.lotKeys.series]) {
      const lot = this.#lots.get(key);
      if (lot !== undefined && lot.rows.count >= this.#maxRows) this.#sealLog(suffix);
    }
  }

  /** Computed again only when the partition changes: it is a long text, needed for every record. */
  #suffixOf(origin: Origin): string {
    const { log, logId, partition } = this.#latest.partition;
    if (origin.partition !== partition || origin.log !== log || origin.logId !== logId)
      this.#latest = { partition: origin, suffix: suffixOf(origin) };
    return this.#latest.suffix;
  }

  #newReading({ log, logId, partition, offset }: Origin, suffix: string): PartitionProgress {
    const reading: PartitionProgress = {
      partition: { log, logId, partition },
      suffix,
      last: offset,
      days: new Map(),
      rowsAt: (table, timeMs) => this.#logRows(reading, table, timeMs),
    };
    return reading;
  }

  #dayOf({ days, partition, suffix }: PartitionProgress, date: string): PartitionDay {
    let day = days.get(date);
    if (day !== undefined) return day;
    const coverageOf = (table: CommittedTable): DayCoverage =>
      this.#coverage.day({ ...partition, table, date });
    day = {
      date,
      coverage: { gpu: coverageOf("gpu"), series: coverageOf("series") },
      lotKeys: { gpu: lotKey("gpu", date, suffix), series: lotKey("series", date, suffix) },
    };
    days.set(date, day);
    return day;
  }

  /** The lot for a row of the record at `reading.last`; undefined if the table has that record. */
  #logRows(
    reading: PartitionProgress,
    table: CommittedTable,
    timeMs: number,
  ): GrowingRows | undefined {
    if (table === "series" && this.#options.series === false) return undefined;
    const { partition, last } = reading;
    const { date, coverage, lotKeys } = this.#dayOf(reading, dateOf(timeMs));
    if (coverage[table].has(last)) return undefined;
    let lot = this.#lots.get(lotKeys[table]);
    if (lot === undefined) {
      const origin = { partition, coverage: coverage[table], first: last, last };
      lot = { table, date, rows: new GrowingRows(table), origin };
      this.#lots.set(lotKeys[table], lot);
    }
    if (lot.origin === undefined) throw new Error("BUG: a lot of a log has no origin");
    lot.origin.last = last;
    lot.rows.offset = last;
    return lot.rows;
  }

  /** For rows that are not from a log. */
  #plainRows(table: CommittedTable, timeMs: number): GrowingRows | undefined {
    if (table === "series" && this.#options.series === false) return undefined;
    const date = dateOf(timeMs);
    const key = lotKey(table, date, "");
    let lot = this.#lots.get(key);
    if (lot === undefined)
      this.#lots.set(key, (lot = { table, date, rows: new GrowingRows(table) }));
    return lot.rows;
  }

  #sealFull(): void {
    for (const [key, { rows, origin }] of this.#lots)
      if (origin === undefined && rows.count >= this.#maxRows) this.#seal(key);
  }

  #sealLog(suffix: string): void {
    for (const key of this.#lots.keys()) if (key.endsWith(`/${suffix}`)) this.#seal(key);
  }

  #seal(key: string): void {
    const lot = this.#lots.get(key);
    if (lot === undefined) return;
    this.#lots.delete(key);
    const { table, date, rows, origin } = lot;
    if (rows.count === 0) return;
    const name = plainName(this.#options.id, this.#startMs, this.#sequence++);
    const sealed: SealedLot = { table, date, rows, name };
    if (origin === undefined) {
      this.#sealed.push(sealed);
      return;
    }
    const { partition, coverage, first, last } = origin;
    const range = { ...partition, first, last };
    coverage.claim(range);
    this.#sealed.push({ ...sealed, origin: { range, coverage } });
  }

  /** Writes run one at a time, in order; a call during a write also waits for its own lots. */
  async #write(signal: AbortSignal): Promise<void> {
    while (this.#sealed.length > 0) {
      this.#writing ??= this.#writeAll(signal).finally(() => (this.#writing = undefined));
      await this.#writing;
    }
    await this.#writing;
  }

  async #writeAll(signal: AbortSignal): Promise<void> {
    while (this.#sealed.length > 0) {
      this.#committing ??= { id: randomUUID(), lots: [...this.#sealed] };
      const { id, lots } = this.#committing;
      const commit = await retryUntilDone(this.#options, signal, () =>
        this.#manifest.commit(id, () => this.#stage(id, lots, signal), signal),
      );
      // Staged rows that another process committed meanwhile.
      for (const { staged } of lots)
        if (staged?.file.staged !== undefined && commit?.added.includes(staged.file) !== true)
          await this.#options.files.remove(staged.file.staged, signal);
      this.#committing = undefined;
      this.#sealed.splice(0, lots.length);
      for (const { path, rows, bytes } of commit?.added ?? []) {
        this.#options.onWritten?.(path);
        this.counts.rows += rows;
        this.counts.files++;
        this.counts.bytes += bytes;
      }
    }
  }

  /** Writes files with all uncommitted rows of these lots; returns undefined if there are none. */
  async #stage(
    id: string,
    lots: readonly SealedLot[],
    signal: AbortSignal,
  ): Promise<LakeChange | undefined> {
    const added: CommittedFile[] = [];
    for (const [place, lot] of lots.entries()) {
      const file = await this.#stageLot(lot, stagedPath(id, place), signal);
      if (file !== undefined) added.push(file);
    }
    return added.length === 0 ? undefined : { operation: "append", added, removed: [] };
  }

  async #stageLot(
    lot: SealedLot,
    staged: string,
    signal: AbortSignal,
  ): Promise<CommittedFile | undefined> {
    const { workers, version, files, nowMs } = this.#options;
    const { table, date, rows, origin } = lot;
    const left = origin && rows.rowsOf((offset) => !origin.coverage.isStored(offset));
    if (origin !== undefined && left === undefined) return undefined;
    const rowCount = left?.rows.length ?? rows.count;
    const before = lot.staged;
    if (
      before?.rowCount === rowCount &&
      before.first === left?.first &&
      before.stagedMs > nowMs() - abandonedMs / 2
    )
      return before.file;
    const chosen = left === undefined ? rows.finish() : selectRows(rows.finish(), left.rows);
    const origins = origin && subtractRanges(origin.range, origin.coverage.stored);
    const metadata = origins && { [metadataKeys.origins]: JSON.stringify(origins) };
    const encoded = await workers.run({
      kind: "encode",
      rows: chosen,
      version,
      format: this.#manifest.format,
      ...(metadata !== undefined && { metadata }),
    });
    const name = origin && left ? originName({ ...origin.range, first: left.first }) : lot.name;
    const file: CommittedFile = {
      path: partitionFolder(table, date, this.#manifest.format) + name,
      staged,
      rows: encoded.rowCount,
      bytes: encoded.bytes.length,
      firstMs: chosen.times.reduce((least, one) => Math.min(least, one), Number.POSITIVE_INFINITY),
      lastMs: chosen.times.reduce((most, one) => Math.max(most, one), 0),
      ...(origins !== undefined && { origins }),
    };
    await files.write(staged, encoded.bytes, signal);
    lot.staged = { file, rowCount, first: left?.first, stagedMs: nowMs() };
    return file;
  }
}

const suffixOf = ({ log, logId = "", partition }: LogPartition): string =>
  `${log}\u0000${logId}\u0000${partition}`;

const lotKey = (table: CommittedTable, date: string, suffix: string): string =>
  `${table}/${date}/${suffix}`;
