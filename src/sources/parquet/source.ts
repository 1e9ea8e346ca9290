/**
 * Reads a lake as frames, day by day: in order of time if a day fits into memory, otherwise file by file with each GPU's rows in
 * order. Never emits a row that a merge has replaced.
 */
import { GpulseError } from "../../base/error.ts";
import { type FileInfo, type FileStore, FileStoreError } from "../../net/objects/store.ts";
import { LakeFileError, openFile, type ParquetFile } from "../../lake/decode.ts";
import { listLake } from "../../lake/files.ts";
import { FrameRebuilder } from "../../lake/frames.ts";
import { joinRows, sortRows } from "../../lake/order.ts";
import type { Rows, TableName } from "../../lake/table.ts";
import type { Device } from "../../model/device.ts";
import type { Emit, StreamingSource } from "../source.ts";
import { stat } from "node:fs/promises";
import path from "node:path";
import { openFiles } from "../../net/objects/open.ts";

export interface LakeReadOptions {
  readonly start?: string | undefined;
  readonly end?: string | undefined;
  readonly series: boolean;
  readonly tags: boolean;
}

/** Maximum rows of a day that are sorted by time; about 500 bytes each. */
const maxSortedRows = 1_000_000;

export class LakeSource implements StreamingSource {
  readonly shape = "streaming";
  readonly #files: FileStore;
  readonly #single: FileInfo | undefined;
  readonly #options: LakeReadOptions;
  readonly #rebuilder = new FrameRebuilder();
  readonly #devices = new Map<string, Device>();

  constructor(files: FileStore, single: FileInfo | undefined, options: LakeReadOptions) {
    this.#files = files;
    this.#single = single;
    this.#options = options;
  }

  devices(): readonly Device[] {
    return [...this.#devices.values()];
  }

  async run(emit: Emit, signal: AbortSignal): Promise<void> {
    try {
      if (this.#single !== undefined) await this.#emitFiles([this.#single], emit, signal);
      else await this.#emitLake(emit, signal);
    } catch (thrown) {
      if (signal.aborted) return;
      if (thrown instanceof LakeFileError)
        throw new GpulseError("FILE_FORMAT", thrown.message, { cause: thrown });
      throw thrown;
    }
  }

  close(): void {
    this.#files.close();
  }

  async #emitLake(emit: Emit, signal: AbortSignal): Promise<void> {
    const { start, end, series } = this.#options;
    const dates = {
      ...(start === undefined ? {} : { from: start }),
      ...(end === undefined ? {} : { to: end }),
    };
    const tables: readonly TableName[] = series ? ["gpu", "series"] : ["gpu"];
    const days = new Set<string>();
    for (const table of tables)
      for (const { date } of await listLake(this.#files, table, dates, signal)) days.add(date);
    if (days.size === 0)
      throw new GpulseError(
        "FILE_UNREADABLE",
        `${this.#files.name} has no table of a lake for these days: its files are gpu/date=YYYY-MM-DD/*.parquet.`,
      );
    for (const date of [...days].sort())
      for (const table of tables) await this.#emitDay(table, date, emit, signal);
  }

  /** A merge may delete a file after it was listed: the day is then listed again, if nothing of it has been emitted. */
  async #emitDay(table: TableName, date: string, emit: Emit, signal: AbortSignal): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      const listed = await listLake(this.#files, table, { from: date, to: date }, signal);
      let emitted = false;
      const watched: Emit = (frame, about) => ((emitted = true), emit(frame, about));
      try {
        await this.#emitFiles(listed, watched, signal);
        return;
      } catch (thrown) {
        const gone = thrown instanceof FileStoreError && thrown.code === "FILES_MISSING";
        if (!gone || emitted || attempt >= 5) throw thrown;
      }
    }
  }

  async #emitFiles(listed: readonly FileInfo[], emit: Emit, signal: AbortSignal): Promise<void> {
    const opened: ParquetFile[] = [];
    for (const file of listed)
      opened.push(await openFile(this.#files, file.path, file.bytes, signal));
    const count = opened.reduce((sum, { rowCount }) => sum + rowCount, 0);
    if (count === 0) return;
    if (count <= maxSortedRows) {
      const parts: Rows[] = [];
      for (const file of opened) parts.push(await file.rows(0, file.rowCount));
      await this.#emitRows(sortRows(joinRows(parts)), emit, signal);
      return;
    }
    for (const file of opened)
      for (const [from, to] of file.groups)
        await this.#emitRows(await file.rows(from, to), emit, signal);
  }

  async #emitRows(rows: Rows, emit: Emit, signal: AbortSignal): Promise<void> {
    const order = Uint32Array.from({ length: rows.count }, (_, row) => row);
    order.sort((a, b) => (rows.times[a] as number) - (rows.times[b] as number) || a - b);
    for (const { frame, host, device, tags } of this.#rebuilder.frames(rows, order)) {
      if (signal.aborted) return;
      if (device !== undefined) this.#devices.set(device.uuid, device);
      const found =
        this.#options.tags && device !== undefined && tags.length > 0
          ? { tags: new Map([[device.uuid, tags]]) }
          : {};
      await emit(frame, {
        ...(host === undefined ? {} : { host }),
        devices: device === undefined ? [] : [device],
        ...found,
      });
    }
  }
}

/* Opens a lake or one Parquet file as a source. */

export async function openParquetSource(
  given: string | undefined,
  options: LakeReadOptions,
): Promise<LakeSource> {
  if (given === undefined)
    throw new GpulseError(
      "SOURCE_OPTIONS",
      "parquet: needs a folder or a file: write parquet:DIR, such as parquet:gpulse-data/lake.",
    );
  const seen = await stat(given).catch(() => undefined);
  if (seen === undefined)
    throw new GpulseError("FILE_UNREADABLE", `There is no folder or file ${given}.`);
  if (!seen.isFile()) {
    const day = dayOf(given);
    return day === undefined
      ? new LakeSource(await openFiles(given, process.env), undefined, options)
      : new LakeSource(await openFiles(day.lake, process.env), undefined, { ...options, ...day });
  }
  const files = await openFiles(path.dirname(given), process.env);
  const single = { path: path.basename(given), bytes: seen.size, modifiedMs: seen.mtimeMs };
  return new LakeSource(files, single, options);
}

/** The folder of one day of a lake's GPU table, as typed with shell completion. */
function dayOf(
  given: string,
): { lake: string; start: string; end: string; series: false } | undefined {
  const [, date] = /^date=(\d{4}-\d{2}-\d{2})$/.exec(path.basename(given)) ?? [];
  const table = path.dirname(path.resolve(given));
  if (date === undefined || path.basename(table) !== "gpu") return undefined;
  return { lake: path.dirname(table), start: date, end: date, series: false };
}
