/** Options, results and statistics of the embedded store. */
import type { Log } from "../../base/log.ts";
import type { Engine } from "../../query/engine.ts";
import type { RetentionRule } from "./rules.ts";
import type { Cardinality } from "./index/cardinality.ts";

export interface StoreLimits {
  /** Limit for all series. */
  readonly maxSeries: number;
  /** Limit for series with the same `instance` value, so that one target cannot use up all series. */
  readonly maxSeriesPerTarget: number;
  /** Limit for series created by one client (a token, or an address without one). */
  readonly maxSeriesPerClient: number;
}

export interface StoreOptions {
  readonly dir: string;
  readonly retentionMs: number;
  /** Size limit of the blocks; the oldest are removed first. */
  readonly retentionBytes?: number;
  /** Retention of rollups; without it or with 0 there are no rollups. */
  readonly rollupRetentionMs?: number | undefined;
  /** Rules with a shorter retention. Undefined to leave the previous opener's rules in place without applying them. */
  readonly retentionRules?: readonly RetentionRule[] | undefined;
  /** Sealed samples are rolled up once they cover this much time. */
  readonly rollEveryMs?: number;
  /** Memory for decompressed columns of blocks; a head that exceeds it is sealed early. */
  readonly memoryBytes: number;
  /** When a sample is acknowledged: once it survives the end of the process, or a power cut. */
  readonly durability: "process" | "power";
  /** Evaluates PromQL; by default an engine with its own limits. */
  readonly engine?: Engine;
  readonly log: Log;
  readonly nowMs: () => number;
  /** A clock that cannot be set. */
  readonly monotonicMs?: () => number;
  /** The time for retention; by default the trusted time derived from the two clocks. For tests. */
  readonly retentionNowMs?: () => number;
  /** How long the file of a block past retention stays on disk, so that a longer retention can restore it. */
  readonly removalGraceMs?: number;
  readonly limits?: Partial<StoreLimits>;
  /** Size of the log from which the head is sealed, whatever its age. */
  readonly sealLogBytes?: number;
  readonly sealAfterMs?: number;
  readonly segmentBytes?: number;
  /** The worker's file if it is not beside the executable; false to run its jobs in this thread. */
  readonly workerFile?: string | false;
  /** Worker threads for large queries; absent for none. */
  readonly queryWorkers?: {
    readonly count: number;
    /** The worker's file if it is not beside the executable. */
    readonly file?: string;
    /** Queries with a lower estimated duration stay in the main thread. */
    readonly thresholdMs?: number;
    /** Resident memory from which a worker collects garbage after a query, because V8 is unaware of the process's limit. */
    readonly collectAboveBytes?: number;
  };
  /** Disables the timers: the caller runs `maintain` (tests, benchmarks). */
  readonly manual?: boolean;
}

export const defaultLimits: StoreLimits = {
  maxSeries: 5_000_000,
  maxSeriesPerTarget: 500_000,
  maxSeriesPerClient: 4_000_000,
};
export const defaultSealLogBytes = 256 * 2 ** 20;
export const defaultSealAfterMs = 2 * 3_600_000;
export const defaultRemovalGraceMs = 3_600_000;
export const defaultSegmentBytes = 16 * 2 ** 20;

/** The outcome of one append. Every sample is counted once; all but the `refused…` ones are stored. */
export interface AppendResult {
  readonly stored: number;
  /** Stored samples that are older than the newest of their series. */
  readonly late: number;
  /** Samples that were stored already with the same value. */
  readonly duplicates: number;
  /** Samples that were stored already with another value. */
  readonly refusedConflicts: number;
  /** Samples from before the Unix epoch, past retention, or without a valid timestamp. */
  readonly refusedTooOld: number;
  /** Samples whose series would exceed a limit. */
  readonly refusedByLimit: number;
  /** The first few rejections, for the sender. */
  readonly refusals: readonly RefusedSample[];
  /** Why a limit or a remote engine rejected samples. */
  readonly reason?: string;
}

export interface RefusedSample {
  readonly ref: number;
  readonly timeMs: number;
  readonly why: "conflict" | "too old" | "limit";
}

export interface StartReport {
  readonly tookMs: number;
  readonly series: number;
  readonly blocks: number;
  readonly logRecords: number;
  readonly logSamples: number;
  readonly tornTail: boolean;
  /** Acknowledged samples that are lost, as far as they can be counted. */
  readonly lostSamples: number;
  /** Series whose labels are lost. */
  readonly lostSeries: number;
  /** Damaged bytes of the write-ahead log. */
  readonly lostBytes: number;
  /** Sentences about what could not be read. */
  readonly lost: readonly string[];
  /** Time of the last process's last log write, by the file system's clock; undefined for a new folder. */
  readonly lastWriteMs: number | undefined;
}

export interface RuleStats {
  readonly match: string;
  readonly retentionMs: number;
  readonly rollupRetentionMs: number;
  /** Number of series that match now. */
  readonly series: number;
  /** The rule has removed raw samples before this time; undefined if it has removed none. */
  readonly removedBeforeMs: number | undefined;
}

export interface StoreStats {
  readonly start: StartReport;
  readonly series: number;
  readonly maxSeries: number;
  readonly headSamples: number;
  readonly headBytes: number;
  readonly headChunks: number;
  readonly headTimebases: number;
  readonly headMinTimeMs: number | undefined;
  readonly headMaxTimeMs: number | undefined;
  readonly indexBytes: number;
  readonly cacheBytes: number;
  readonly cacheHits: number;
  readonly cacheMisses: number;
  readonly blocks: number;
  readonly blockSamples: number;
  readonly blockBytes: number;
  readonly minTimeMs: number | undefined;
  readonly maxTimeMs: number | undefined;
  readonly rollups: {
    readonly blocks: number;
    readonly bytes: number;
    /** Finest first. */
    readonly tiers: readonly { readonly resolutionMs: number; readonly bytes: number }[];
    /** Time of the oldest entry. */
    readonly minTimeMs: number | undefined;
    /** Samples up to this time are in rollups. */
    readonly rolledToMs: number | undefined;
    /** Time span of sealed samples that are not rolled up yet. */
    readonly behindMs: number;
    readonly rolled: number;
  };
  /** Retention rules by matcher. */
  rules(): readonly RuleStats[];
  /** Blocks past retention that are still on disk. */
  readonly removedBlocks: number;
  readonly removedBytes: number;
  readonly logBytes: number;
  readonly appended: Readonly<Record<keyof Omit<AppendResult, "refusals" | "reason">, number>>;
  readonly lost: readonly string[];
  /** Number of unreadable parts that are retried later; each has a sentence in `lost`. */
  readonly unreadable: number;
  readonly lostSamples: number;
  readonly seals: number;
  readonly compactions: number;
  /** Running threads for large queries, their queries since startup, and lost threads. */
  readonly queryWorkers: {
    readonly running: number;
    readonly queries: number;
    readonly lost: number;
  };
  cardinality(limit?: number): Cardinality;
}
