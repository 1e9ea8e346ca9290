/** Opens the hub's storage, the embedded store or an external engine, and the sink that writes local frames to it. */
import { availableParallelism } from "node:os";
import path from "node:path";
import { pause } from "../base/retry.ts";
import type { Log } from "../base/log.ts";
import type { CollectMetrics } from "../model/self-frames.ts";
import { collectHub } from "./self-metrics.ts";
import type { LabelSet } from "../model/labels.ts";
import type { Delivery, Sink } from "../pipeline/sink.ts";
import { formatDuration } from "../config/duration.ts";
import { residentBytes } from "../base/resident-bytes.ts";
import { GpulseError, formatError, systemCode } from "../base/error.ts";
import { StoreError } from "../storage/embedded/error.ts";
import { createEngine } from "../query/engine.ts";
import { QueryMemory } from "../query/memory.ts";
import type { History, SampleWriter } from "../storage/history.ts";
import type { StoreAddress } from "../storage/remote/address.ts";
import { StoredClock } from "../base/state/stored-clock.ts";
import { collectGarbage } from "../base/heap.ts";
import { defaultLimits, type StoreLimits } from "../storage/embedded/options.ts";
import type { RetentionRule } from "../storage/embedded/rules.ts";
import { openStore, type Store } from "../storage/embedded/store.ts";
import { ExemplarStore } from "../storage/exemplars/exemplar-store.ts";
import { ExemplarSegments } from "../storage/exemplars/segments.ts";
import type { ApiContext } from "./api/context.ts";
import { MetadataRegistry } from "./api/metadata.ts";
import type { MemoryBudgets } from "./limits/memory.ts";
import { ReceiverCounts } from "./receive/receiver-counts.ts";

export interface StorageOptions {
  readonly dir: string;
  readonly retentionMs: number;
  /** No rollups if absent or 0. */
  readonly rollupRetentionMs?: number | undefined;
  readonly retentionRules?: readonly RetentionRule[];
  readonly retentionBytes?: number | undefined;
  readonly durability?: "process" | "power";
  /** How the process's memory is divided; absent: the defaults of each part. */
  readonly budgets?: MemoryBudgets;
  /** Number of threads for large queries; none if absent. */
  readonly queryWorkers?: number;
  /** True if PromQL uses start times of samples; false if absent. */
  readonly usesStartTimes?: boolean;
  /** Maximum number of exemplars; none if absent. */
  readonly maxExemplars?: number;
  readonly log: Log;
  readonly nowMs: () => number;
  readonly version: string;
}

export interface Storage {
  readonly history: History;
  readonly api: ApiContext;
  /** Self-metrics of storage. */
  readonly selfMetrics: CollectMetrics;
  /** Problems that currently prevent samples from being stored. */
  readonly problems: () => readonly string[];
  /** A clock that follows no jump of the wall clock, for deletions. */
  readonly trustedNowMs: () => number;
  /** The history accepts no samples older than this. */
  readonly oldestSampleMs: () => number;
  close(): Promise<void>;
}

export interface EmbeddedStorage extends Storage {
  readonly store: Store;
}

const defaultStoreBytes = 256 * 2 ** 20;
/** Queries check for a garbage collection after releasing this fraction of their budget. */
const collectShare = 0.25;
/**
 * Resident memory, as a fraction of the limit, above which a full collection is worthwhile: it takes 10 ms, and more with large
 * results.
 */
const worthCollectingShare = 0.6;
/** How often resident memory is compared with the limit, and the minimum interval between collections. */
const memoryWatchMs = 250;
const collectAtMostEveryMs = 3_000;
/** A collection that frees less than this fraction makes the next ones less frequent. */
const leastFreedShare = 0.05;
const longestCollectMs = 30_000;
/** Growth, as a fraction of the limit, that triggers a collection before the interval ends. */
const regrownShare = 0.05;
const mostQueryWorkers = 4;
const firstWaitMs = 500;
const longestWaitMs = 10_000;

/** One core is left for ingestion and other small work; more than four concurrent large queries are rare. */
export const defaultQueryWorkers = (): number =>
  Math.min(mostQueryWorkers, availableParallelism() - 1);

/** Marks the downtime of the hub, so that charts show a gap there. */
export function endInterrupted({ store }: EmbeddedStorage, log: Log): void {
  try {
    store.endInterrupted(Date.now());
  } catch (thrown) {
    if (!(thrown instanceof StoreError)) throw thrown;
    log.warn("the end of the last run could not be stored: charts show no gap there", {
      error: thrown.message,
    });
  }
}

export async function openStorage(options: StorageOptions): Promise<EmbeddedStorage> {
  const { dir, retentionMs, retentionBytes, durability = "process", budgets } = options;
  const { log, nowMs, version } = options;
  const memory = budgets && queryMemoryOf(budgets);
  const store = await openStore({
    dir,
    engine: createEngine({ memory, usesStartTimes: options.usesStartTimes }),
    retentionMs,
    rollupRetentionMs: options.rollupRetentionMs,
    retentionRules: options.retentionRules,
    memoryBytes: budgets?.storeBytes ?? defaultStoreBytes,
    queryWorkers: {
      count: options.queryWorkers ?? 0,
      ...(budgets && { collectAboveBytes: budgets.limit.bytes * worthCollectingShare }),
    },
    durability,
    ...(budgets !== undefined && { limits: limitsOf(budgets) }),
    ...(retentionBytes !== undefined && { retentionBytes }),
    log,
    nowMs,
  }).catch(explain);
  const exemplars = openExemplars(dir, options.maxExemplars ?? 0, log);
  const watch = budgets && setInterval(watchMemory(budgets), memoryWatchMs).unref();
  const api: ApiContext = {
    history: store,
    writer: store,
    store,
    ...(memory !== undefined && { queryMemory: memory }),
    ...(budgets !== undefined && { budgets }),
    metadata: new MetadataRegistry(),
    exemplars,
    received: new ReceiverCounts(),
    log,
    nowMs,
    version,
    startedMs: nowMs(),
    retention: formatDuration(retentionMs),
    dataDir: dir,
  };
  const selfMetrics: CollectMetrics = (put) => collectHub(put, store, api);
  const problems = (): readonly string[] => store.problems();
  return {
    store,
    history: store,
    api,
    selfMetrics,
    problems,
    trustedNowMs: () => store.trustedNowMs,
    oldestSampleMs: () => store.oldestSampleMs,
    close: () => {
      clearInterval(watch);
      exemplars.close();
      return store.close().catch(explain);
    },
  };
}

/**
 * Collects the garbage of ingestion when resident memory is close to the limit: V8 sees its heap, but not the limit. After a
 * collection that freed little, it waits until memory has grown again: fast ingestion fills the rest of the limit in seconds.
 */
function watchMemory({ limit }: MemoryBudgets): () => void {
  let nextMs = 0;
  let nextBytes = 0;
  return () => {
    const bytes = residentBytes();
    if (bytes === undefined || bytes < limit.bytes * worthCollectingShare) return;
    if (performance.now() < nextMs && bytes < nextBytes) return;
    collectGarbage();
    const left = residentBytes() ?? bytes;
    const isGarbage = left < bytes * (1 - leastFreedShare);
    nextMs = performance.now() + (isGarbage ? collectAtMostEveryMs : longestCollectMs);
    nextBytes = left + limit.bytes * regrownShare;
  };
}

const limitsOf = ({ series, seriesPerClient }: MemoryBudgets): StoreLimits => ({
  maxSeries: series,
  maxSeriesPerTarget: Math.min(defaultLimits.maxSeriesPerTarget, seriesPerClient),
  maxSeriesPerClient: seriesPerClient,
});

/** Collects the garbage of large queries before the next ones need its memory: V8 does not see all of it. */
function queryMemoryOf(budgets: MemoryBudgets): QueryMemory {
  const { queriesBytes: totalBytes, queriesPerClientBytes, queryBytes } = budgets;
  let released = 0;
  const onRelease = (bytes: number): void => {
    released += bytes;
    if (released < totalBytes * collectShare) return;
    released = 0;
    if ((residentBytes() ?? 0) > budgets.limit.bytes * worthCollectingShare)
      setImmediate(collectGarbage);
  };
  return new QueryMemory(
    { totalBytes, perClientBytes: queriesPerClientBytes, perQueryBytes: queryBytes },
    { onRelease },
  );
}

/** Exemplars are in memory, and in the data folder for the next start. */
function openExemplars(dir: string, max: number, log: Log): ExemplarStore {
  if (max === 0) return new ExemplarStore(0);
  return new ExemplarStore(max, new ExemplarSegments(path.join(dir, "exemplars"), max, log));
}

/** Opens a history in an external engine; the data folder then holds state files only. */
export async function openRemoteStorage(
  address: StoreAddress,
  { dir, log, nowMs, version, maxExemplars = 0 }: Omit<StorageOptions, "retentionMs">,
): Promise<Storage> {
  const { openRemoteHistory } = await import("../storage/remote/remote.ts");
  const history = await openRemoteHistory(address, log);
  const exemplars = openExemplars(dir, maxExemplars, log);
  const api: ApiContext = {
    history,
    writer: history,
    metadata: new MetadataRegistry(),
    exemplars,
    received: new ReceiverCounts(),
    log,
    nowMs,
    version,
    startedMs: nowMs(),
    retention: "",
    dataDir: dir,
  };
  const selfMetrics: CollectMetrics = (put) => collectHub(put, undefined, api);
  const problems = (): readonly string[] =>
    history.problem === undefined ? [] : [`${history.place}: ${history.problem}`];
  const clock = new StoredClock({ file: path.join(dir, "trusted-clock"), nowMs, log });
  return {
    history,
    api,
    selfMetrics,
    problems,
    trustedNowMs: () => clock.nowMs(),
    oldestSampleMs: () => 0,
    close: async () => {
      clock.close();
      exemplars.close();
      await history.close();
    },
  };
}

/** The user has to fix an unusable data folder. */
function explain(thrown: unknown): never {
  if (thrown instanceof GpulseError) throw thrown;
  const code = systemCode(thrown);
  if (thrown instanceof StoreError)
    throw new GpulseError("DATA_FOLDER", thrown.message, { cause: thrown });
  if (code !== undefined)
    throw new GpulseError(
      "DATA_FOLDER",
      `The data folder cannot be used (${formatError(thrown)}): choose another with --data.`,
      { cause: thrown },
    );
  throw thrown;
}

/** Writes local frames to the history, and ends their series when the hub stops: nothing reads the GPUs after that. */
export class HistorySink implements Sink {
  readonly name = "store";
  readonly #writer: SampleWriter;
  readonly #identity: LabelSet;
  readonly #closing = new AbortController();
  readonly #lastFrameMs = new Map<string, number>();

  constructor(writer: SampleWriter, identity: LabelSet) {
    this.#writer = writer;
    this.#identity = identity;
  }

  /** Retries while an external engine is unavailable; frames wait in order in the sink's queue. */
  async write(delivery: Delivery): Promise<void> {
    for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
      try {
        await this.#writer.writeFrame(delivery, this.#identity);
        const { source, frame } = delivery;
        const lastMs = this.#lastFrameMs.get(source) ?? -Infinity;
        this.#lastFrameMs.set(source, Math.max(lastMs, frame.timeMs));
        return;
      } catch (thrown) {
        const isAway = thrown instanceof StoreError && thrown.kind === "unavailable";
        if (!isAway || this.#closing.signal.aborted) throw thrown;
        await pause(waitMs, this.#closing.signal);
      }
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    for (const [source, lastMs] of this.#lastFrameMs)
      await this.#writer.endSource(source, lastMs + 1).catch((thrown: unknown) => {
        // The engine is unavailable or the disk is full: the gap is then shown from the next start.
        if (!(thrown instanceof StoreError)) throw thrown;
      });
  }
}
