/**
 * The embedded time-series store: batches, frames and appenders write samples; matchers (StoreReader) and PromQL read
 * them. Plain TypeScript, one folder, one process. FORMAT.md describes its files.
 */
import path from "node:path";
import { copyFileSync } from "node:fs";
import { makeFolderSync } from "../../base/make-folder.ts";
import { type LabelSet, noLabels } from "../../model/labels.ts";
import { formatError } from "../../base/error.ts";
import { appendBatch, Appender, type AppendTarget } from "./append.ts";
import { type BlockWorker, openBlockWorker } from "./blocks/job.ts";
import type { ColumnSource, SeriesPieces } from "./column-source.ts";
import { StoreError } from "./error.ts";
import { type FolderLock, FolderLockedError, lockFolder } from "../../base/state/lock.ts";
import { isDiskFull } from "./failures.ts";
import { isNearlyFull, releaseReserve } from "./files/reserve.ts";
import { formatVersion, storeBound, storeTombstone, writeManifest } from "./files/manifest.ts";
import { checkFile } from "./files/series-log.ts";
import { linkOrCopy, newFolder } from "./files/snapshot.ts";
import { FrameAppender, type FrameOrigin } from "./frames.ts";
import { RawLabels } from "./index/raw-labels.ts";
import { endInterrupted, endSilent, type Interruption, silentStepsMs } from "./interruption.ts";
import { LogWriter } from "./log-writer.ts";
import { lookUp } from "./lookup.ts";
import { Maintenance } from "./maintenance.ts";
import { createOffload } from "./offload/offload.ts";
import { openQueryPool, type QueryPool } from "./offload/pool.ts";
import type { AppendResult, StoreOptions, StoreStats } from "./options.ts";
import { StoreReader } from "./reader.ts";
import { storeRollups } from "./rollups/manifest.ts";
import { deleteFromRollups } from "./rollups/outdated.ts";
import { rollupBlocks, rollupFile, withoutRemoved } from "./rollups/state.ts";
import { storeRules } from "./rules.ts";
import type { SampleBatch } from "../../formats/samples/batch.ts";
import type { Matcher } from "../../model/select.ts";
import {
  createEngine,
  type Engine,
  type Offload,
  type QueryOptions,
  type QueryRequest,
  type ResponseBody,
} from "../../query/engine.ts";
import type { ResponseFormat } from "../../query/response.ts";
import type { QueryResult } from "../../query/result.ts";
import type { History } from "../history.ts";
import { start, type StartResult } from "./start.ts";
import {
  blockChecks,
  rollupRanges,
  blockFile,
  changeState,
  seriesFile,
  type StoreState,
  writeState,
} from "./state.ts";
import { problemsOf, statsOf } from "./stats.ts";

const syncEveryMs = 1_000;
const upkeepEveryMs = 5_000;
const refusedLogEveryMs = 60_000;
const resultKinds = [
  "stored",
  "late",
  "duplicates",
  "refusedConflicts",
  "refusedTooOld",
  "refusedByLimit",
] as const;

/** Opens or creates the folder, locks it and replays its log. Damage is logged and does not prevent the start. */
export async function openStore(options: StoreOptions): Promise<Store> {
  makeFolderSync(options.dir, { mode: 0o700 });
  if (isNearlyFull(options.dir)) releaseReserve(options.dir);
  const lock = lockWithReserve(options.dir);
  try {
    const started = start(options, () => requireLock(lock, options.dir));
    for (const sentence of started.report.lost) options.log.error(sentence);
    options.log.info("the store is open", {
      dir: options.dir,
      series: started.report.series,
      blocks: started.report.blocks,
      samplesFromLog: started.report.logSamples,
      tookMs: Math.round(started.report.tookMs),
    });
    return new Store(started, lock);
  } catch (thrown) {
    lock.release();
    throw thrown;
  }
}

/** Opening needs a few kilobytes of disk space; on a full disk the reserve is released for it. */
function lockWithReserve(dir: string): FolderLock {
  try {
    return lockStore(dir);
  } catch (thrown) {
    if (!isDiskFull(thrown)) throw thrown;
    releaseReserve(dir);
    return lockStore(dir);
  }
}

export class Store extends StoreReader implements History {
  readonly place: string;
  readonly #state: StoreState;
  readonly #report: StartResult["report"];
  readonly #lock: FolderLock;
  readonly #workers: BlockWorker;
  readonly #maintenance: Maintenance;
  readonly #engine: Engine;
  readonly #queryPool: QueryPool | undefined;
  readonly #offload: Offload | undefined;
  readonly #logWriter: LogWriter;
  readonly #rawLabels = new RawLabels();
  readonly #target: AppendTarget;
  readonly #batches: Appender;
  readonly #frames: FrameAppender;
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #appended: Record<(typeof resultKinds)[number], number> = {
    stored: 0,
    late: 0,
    duplicates: 0,
    refusedConflicts: 0,
    refusedTooOld: 0,
    refusedByLimit: 0,
  };
  #generation = 0;
  #refusedAtMs = -Infinity;
  #nextRefusedLogMs = -Infinity;
  #closed = false;

  constructor({ state, report }: StartResult, lock: FolderLock) {
    super(() => state);
    this.place = state.options.dir;
    this.#state = state;
    this.#report = report;
    this.#lock = lock;
    this.#workers = openBlockWorker(state.options.workerFile);
    this.#maintenance = new Maintenance(state, this.#workers, () => {
      this.#generation++;
      this.#rawLabels.clear();
    });
    this.#engine = state.options.engine ?? createEngine();
    this.#queryPool = openQueryPool(state.options);
    this.#offload =
      this.#queryPool &&
      createOffload(this.#queryPool, () => state, state.options.queryWorkers?.thresholdMs);
    this.#logWriter = new LogWriter(state.wal, () => this.#persistNames());
    this.#target = this.#appendTarget();
    this.#batches = this.appender();
    this.#frames = new FrameAppender(this.appender(), () => this.#generation);
    if (state.options.manual !== true) this.#startTimers();
  }

  /**
   * Returns a new appender. Look up series and commit without yielding: between event loop turns a series may be
   * dropped.
   */
  appender(): Appender {
    return new Appender(this.#target);
  }

  /** Appends one frame without waiting for the disk; `extra` labels are added to every series that lacks them. */
  appendFrame(origin: FrameOrigin, extra: LabelSet = noLabels, client?: string): AppendResult {
    return this.#frames.write(origin, extra, client);
  }

  /** Resolves when committed samples are as safe as `durability` requires: immediately, or once they are on disk. */
  async durable(): Promise<void> {
    if (this.#state.options.durability !== "power") return;
    await this.#sync();
    // A kernel reports a failed write only once: until a block holds the samples, nothing is acknowledged.
    const failure = this.#state.failures.get("sync");
    if (failure !== undefined)
      throw new StoreError(failure.isFull ? "full" : "unusable", failure.sentence);
  }

  async write(batch: SampleBatch, client?: string): Promise<AppendResult> {
    this.#batches.client = client;
    const result = appendBatch(this.#batches, batch);
    await this.durable();
    return result;
  }

  async writeFrame(origin: FrameOrigin, extra: LabelSet, client?: string): Promise<AppendResult> {
    const result = this.appendFrame(origin, extra, client);
    await this.durable();
    return result;
  }

  async endSource(source: string, timeMs: number): Promise<void> {
    this.#frames.endSource(source, timeMs);
    await this.durable();
  }

  /** Ends the series that a stop of the last process cut off, now and those that do not continue a while later. */
  endInterrupted(nowMs: number): AppendResult {
    silentStepsMs.forEach((waitMs, step) => {
      const end = (): void => this.#attemptEndSilent(nowMs, step);
      this.#timers.push(setTimeout(end, waitMs).unref());
    });
    return endInterrupted(this.#interruption(), nowMs);
  }

  endSilent(startMs: number, step: number): AppendResult {
    return endSilent(this.#interruption(), startMs, step);
  }

  #interruption(): Interruption {
    const { head, index } = this.#state;
    const { lastWriteMs } = this.#report;
    return { head, series: index.table, lastWriteMs, appender: this.appender() };
  }

  #attemptEndSilent(startMs: number, step: number): void {
    try {
      this.endSilent(startMs, step);
    } catch (thrown) {
      // A full disk, for example: these series end with the lookback instead.
      this.#state.options.log.warn("series that ended during a restart could not be ended", {
        error: formatError(thrown),
      });
    }
  }

  answer(
    request: QueryRequest,
    options: QueryOptions,
    format: ResponseFormat,
  ): Promise<ResponseBody> {
    return this.#engine.answer(request, this, options, format, this.#offload);
  }

  instant(query: string, timeMs: number, options?: QueryOptions): Promise<QueryResult> {
    return this.#engine.instant(query, timeMs, this, options);
  }

  range(
    query: string,
    startMs: number,
    endMs: number,
    stepMs: number,
    options?: QueryOptions,
  ): Promise<QueryResult> {
    return this.#engine.range(query, startMs, endMs, stepMs, this, options);
  }

  /** Deletes stored samples of the series that match any of the sets. Samples appended after it has resolved stay. */
  delete(
    sets: readonly (readonly Matcher[])[],
    fromMs = -Infinity,
    toMs = Infinity,
  ): Promise<void> {
    return this.#maintenance.enqueue(async () => {
      const state = this.#state;
      const refs = this.refs(sets, true);
      await this.#maintenance.seal();
      if (refs.length === 0) return;
      const tombstone = { fromMs, toMs, beforeBlock: state.nextBlock, refs };
      changeState(state, {
        tombstones: [...state.tombstones, tombstone],
        rollups: deleteFromRollups(state.rollups, tombstone),
      });
    });
  }

  /** Writes the whole head to a block now. */
  seal(): Promise<void> {
    return this.#maintenance.enqueue(() => this.#maintenance.seal());
  }

  /** Runs the maintenance that otherwise runs every five seconds: due sealing, merging, retention. */
  maintain(): Promise<void> {
    return this.#maintenance.round();
  }

  /** Copies everything committed so far to a folder for `restoreSnapshot` or `openStore`. */
  snapshot(dir: string, onFile: (file: string) => void = () => {}): Promise<void> {
    return this.#maintenance.enqueue(async () => {
      await this.#maintenance.seal();
      const state = this.#state;
      newFolder(dir);
      for (const block of state.blocks) {
        linkOrCopy(block.file, blockFile(dir, block.id));
        onFile(block.file);
      }
      for (const { resolutionMs, blocks } of state.rollups.tiers)
        for (const block of blocks) {
          linkOrCopy(block.file, rollupFile(dir, block.id, resolutionMs));
          onFile(block.file);
        }
      const series = seriesFile(state.options.dir, state.seriesLogNumber);
      for (const file of [series, checkFile(series)])
        copyFileSync(file, path.join(dir, path.basename(file)));
      writeManifest(dir, {
        version: formatVersion,
        storeId: state.storeId,
        nextBlock: state.nextBlock,
        blocks: state.blocks.map((block) => block.id),
        blockChecks: blockChecks([...state.blocks, ...rollupBlocks(state.rollups)]),
        rollupRanges: rollupRanges(withoutRemoved(state.rollups)),
        goneBeforeMs: storeBound(state.goneBeforeMs),
        unlinkedBeforeMs: storeBound(state.goneBeforeMs),
        rollups: storeRollups(withoutRemoved(state.rollups), state.quarantine),
        ...(state.rules.length > 0 && { rules: storeRules(state.rules) }),
        walFrom: 1,
        walStart: { sequence: 0, samples: 0 },
        seriesLog: state.seriesLogNumber,
        seriesRecords: state.seriesLog.syncedRecords,
        tombstones: state.tombstones.map(storeTombstone),
      });
    });
  }

  /** The time for retention, which ignores wall clock jumps. */
  get trustedNowMs(): number {
    return this.#state.retentionNowMs();
  }

  /** Older samples are rejected. */
  get oldestSampleMs(): number {
    return Math.max(0, this.trustedNowMs - this.#state.options.retentionMs);
  }

  /** Current problems that need attention, one sentence each. */
  problems(): readonly string[] {
    const { monotonicMs, budget } = this.#state;
    const isRefusing = monotonicMs() - this.#refusedAtMs < refusedLogEveryMs;
    return [
      ...problemsOf(this.#state),
      ...(isRefusing ? [`new series are refused: ${budget.reason}`] : []),
    ];
  }

  stats(): StoreStats {
    return statsOf(this.#state, this.#report, this.#maintenance, this.#appended, this.#queryPool);
  }

  /** Releases everything without sealing: committed samples are in the log. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const timer of this.#timers) clearInterval(timer);
    // On a full disk the stored time does not change: retention then resumes a little earlier.
    await this.#maintenance
      .enqueue(async () => this.#maintenance.storeTrustedTime())
      .catch(() => undefined);
    try {
      await this.#state.wal.close();
    } finally {
      await this.#workers.close();
      await this.#queryPool?.close();
      this.#state.seriesLog.close();
      const removed = this.#state.removed.map(({ block }) => block);
      for (const block of [...this.#state.blocks, ...removed, ...rollupBlocks(this.#state.rollups)])
        block.release();
      this.#lock.release();
    }
  }

  /**
   * Writes the labels of new series to the series log as well. The write-ahead log has them already, but a second copy
   * costs only one write, and lost labels would cost all samples of these series.
   */
  #persistNames(): void {
    const state = this.#state;
    try {
      state.seriesLog.add(state.index, state.unpersisted);
      state.unpersisted = [];
    } catch (thrown) {
      // The series stay unpersisted: the next write or seal tries again.
      state.options.log.warn(`names of series could not be written twice: ${formatError(thrown)}`);
    }
  }

  /** Logs at most once a minute, because a client that creates too many series keeps trying. */
  #logRefused(reason: string | undefined): void {
    const { monotonicMs, options } = this.#state;
    this.#refusedAtMs = monotonicMs();
    if (this.#refusedAtMs < this.#nextRefusedLogMs) return;
    this.#nextRefusedLogMs = this.#refusedAtMs + refusedLogEveryMs;
    options.log.warn("new series are refused; samples of existing series are stored", {
      reason,
      refusedSamples: this.#appended.refusedByLimit,
    });
  }

  #startTimers(): void {
    const sync = (): void => void this.#sync();
    const upkeep = (): void => void this.#maintenance.round();
    this.#timers.push(setInterval(sync, syncEveryMs), setInterval(upkeep, upkeepEveryMs));
    for (const timer of this.#timers) timer.unref();
  }

  async #sync(): Promise<void> {
    const { wal, failures } = this.#state;
    try {
      await wal.sync();
    } catch (thrown) {
      failures.add("sync", "the log cannot be put on the disk", thrown);
    }
  }

  #appendTarget(): AppendTarget {
    const state = this.#state;
    const { head } = state;
    const sources = (): (ColumnSource & {
      collect(ref: number, fromMs: number, toMs: number, pieces: SeriesPieces): void;
    })[] => [...head.epochs.map(({ source }) => source), ...state.blocks];
    const isClosed = (): boolean => this.#closed;
    const oldestSampleMs = (): number => this.oldestSampleMs;
    return {
      get index() {
        return state.index;
      },
      rawLabels: this.#rawLabels,
      budget: state.budget,
      get minTimeMs() {
        return oldestSampleMs();
      },
      isNewer: (columns, i) => head.isNewer(columns, i),
      lookUp: (columns, i) => lookUp(sources(), columns, i),
      created: (ref, labels) => {
        state.unpersisted.push(ref);
        this.#logWriter.created(ref, labels);
      },
      log: (columns) => {
        if (isClosed()) throw new StoreError("closed", "The store is closed.");
        try {
          // Raises the manifest's version before the first histogram, so that a version without histogram support
          // rejects the folder.
          if (columns.histograms.length > 0 && state.seriesLog.isHeld) writeState(state);
          this.#logWriter.write(columns);
          state.failures.clear("write");
        } catch (thrown) {
          state.failures.add("write", "samples cannot be stored", thrown);
          throw thrown;
        }
      },
      keep: (columns, i, late) => head.append(columns, i, late),
      count: (result) => {
        for (const kind of resultKinds) this.#appended[kind] += result[kind];
        if (result.refusedByLimit > 0 && state.budget.reason !== undefined)
          this.#logRefused(result.reason);
      },
    };
  }
}

/** Locks the store's folder like any state folder, but throws a StoreError. */
function lockStore(dir: string): FolderLock {
  try {
    return lockFolder(dir);
  } catch (thrown) {
    if (!(thrown instanceof FolderLockedError)) throw thrown;
    throw new StoreError("locked", thrown.message, { cause: thrown });
  }
}

/** Throws once another process owns the folder, because further writes would damage its data. */
function requireLock(lock: FolderLock, dir: string): void {
  if (lock.isHeld()) return;
  throw new StoreError(
    "locked",
    `The data folder ${dir} has been taken over by another process: nothing more is written to it. Stop one of the two processes, then restart this one.`,
  );
}
