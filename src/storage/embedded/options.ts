/** Options, results and statistics of the embedded store. */
import type { Log } from "../../base/log.ts";
import type { Engine } from "../../query/engine.ts";
import type { RetentionRule } from "./rules.ts";
import type { Cardinality } from "./index/cardinality.ts";

export interface StoreLimits {
  /** Series in all. */
  readonly maxSeries: number;
  /** Series that carry one value of `instance`: one target cannot take everybody's place. */
  readonly maxSeriesPerTarget: number;
  /** Series that one client (a token, or an address without one) may create. */
  readonly maxSeriesPerClient: number;
}

export interface StoreOptions {
  readonly dir: string;
  readonly retentionMs: number;
  /** Bytes of blocks; the oldest go first. */
  readonly retentionBytes?: number;
  /** How long rollups are retained; none are made where it is absent or 0. */
  readonly rollupRetentionMs?: number | undefined;
  /** Series that are retained for less long. Absent: those of the last opener stay as they are, and nothing is removed by them. */
  readonly retentionRules?: readonly RetentionRule[] | undefined;
  /** Sealed samples are rolled up when there are as many hours of them. */
  readonly rollEveryMs?: number;
  /** Memory for decompressed columns of blocks; a head that outgrows it is sealed early. */
  readonly memoryBytes: number;
  /** What acknowledged means: it survives the process, or it survives a power cut. */
  readonly durability: "process" | "power";
  /** Evaluates PromQL; by default one with its own limits. */
  readonly engine?: Engine;
  readonly log: Log;
  readonly nowMs: () => number;
  /** A clock that nobody can set. */
  readonly monotonicMs?: () => number;
  /** The time that retention is judged by, where it shall not be derived from the two clocks (tests). */
  readonly retentionNowMs?: () => number;
  /** How long the file of a block past retention stays on the disk, to be used again if retention is raised. */
  readonly removalGraceMs?: number;
  readonly limits?: Partial<StoreLimits>;
  /** Log bytes after which the head is sealed, whatever its age. */
  readonly sealLogBytes?: number;
  readonly sealAfterMs?: number;
  readonly segmentBytes?: number;
  /** The worker's file where it is not beside the executable; false keeps its work in this thread. */
  readonly workerFile?: string | false;
  /** Worker threads for large queries; none where absent. */
  readonly queryWorkers?: {
    readonly count: number;
    /** The worker's file where it is not beside the executable. */
    readonly file?: string;
    /** Queries that are estimated to take less stay in the main thread. */
    readonly thresholdMs?: number;
    /** Resident memory from which a worker collects its garbage after a query; V8 does not see the process's limit. */
    readonly collectAboveBytes?: number;
  };
  /** No timers: the opener calls `maintain` (tests, benchmarks). */
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

/** What became of the samples of one append. All but `refused…` are stored, and every sample is counted. */
export interface AppendResult {
  readonly stored: number;
  /** Of those stored: older than the newest of their series. */
  readonly late: number;
  /** Already there with the same value. */
  readonly duplicates: number;
  /** Already there with another value. */
  readonly refusedConflicts: number;
  /** Before the Unix epoch, past retention, or not an instant at all. */
  readonly refusedTooOld: number;
  /** Their series would have been one too many. */
  readonly refusedByLimit: number;
  /** The first few refusals, for the sender. */
  readonly refusals: readonly RefusedSample[];
  /** Why samples were refused by a limit, or why the engine elsewhere refused them. */
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
  /** Acknowledged samples that cannot be served, as far as they can be counted. */
  readonly lostSamples: number;
  /** Series whose labels are lost. */
  readonly lostSeries: number;
  /** Damaged bytes of the write-ahead log. */
  readonly lostBytes: number;
  /** Sentences: what could not be read. */
  readonly lost: readonly string[];
  /** When the last process wrote to the log, by the clock of the file system; undefined for a new folder. */
  readonly lastWriteMs: number | undefined;
}

export interface RuleStats {
  readonly match: string;
  readonly retentionMs: number;
  readonly rollupRetentionMs: number;
  /** Series that it selects now. */
  readonly series: number;
  /** Raw samples before this were removed by it; undefined where none was. */
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
    /** The oldest entry. */
    readonly minTimeMs: number | undefined;
    /** Samples up to here are in rollups. */
    readonly rolledToMs: number | undefined;
    /** Sealed samples that wait to be rolled up, as the time they span. */
    readonly behindMs: number;
    readonly rolled: number;
  };
  /** Retention rules by matcher. */
  rules(): readonly RuleStats[];
  /** Past retention, still on the disk. */
  readonly removedBlocks: number;
  readonly removedBytes: number;
  readonly logBytes: number;
  readonly appended: Readonly<Record<keyof Omit<AppendResult, "refusals" | "reason">, number>>;
  readonly lost: readonly string[];
  /** Parts that cannot be read now and are read again later; each is a sentence of `lost`. */
  readonly unreadable: number;
  readonly lostSamples: number;
  readonly seals: number;
  readonly compactions: number;
  /** Threads that evaluate large queries now, the queries they had since the start, and the threads that were lost. */
  readonly queryWorkers: {
    readonly running: number;
    readonly queries: number;
    readonly lost: number;
  };
  cardinality(limit?: number): Cardinality;
}
