/**
 * The process's memory limit and its division into budgets: queries, series, the store's cache, request bodies and responses.
 * All memory budgets are decided here.
 */
import { totalmem } from "node:os";
import v8 from "node:v8";
import type { Log } from "../../base/log.ts";
import { hostFileAccess } from "../../machine/sysfs/file-access.ts";
import { readCgroupLimits } from "../../machine/cgroup-limits.ts";
import { type Machine, MissingFacts } from "../../machine/machine.ts";
import { formatFactBytes } from "../../runs/snapshot/words.ts";

export interface MemoryLimit {
  readonly bytes: number;
  readonly origin: "--memory" | "cgroup" | "half of the machine" | "the V8 heap";
}

export interface MemoryBudgets {
  readonly limit: MemoryLimit;
  /** All queries that are running or whose responses are being sent. */
  readonly queriesBytes: number;
  /** Queries of one token, user or address. */
  readonly queriesPerClientBytes: number;
  readonly queryBytes: number;
  /** Series in the store. */
  readonly series: number;
  /** Series that one token or address may create. */
  readonly seriesPerClient: number;
  /** Decompressed blocks, and the head until it is sealed early. */
  readonly storeBytes: number;
  /** Request bodies being received. */
  readonly bodiesBytes: number;
  /** Responses waiting for slow clients. */
  readonly responsesBytes: number;
  /** One SQL analysis. */
  readonly analysisBytes: number;
}

const mebibyte = 2 ** 20;
/** Base memory without series, queries or requests. */
const programBytes = 160 * mebibyte;
/** Measured: 700 B with 6 labels; copies of growing arrays and garbage of ingestion add to it. */
const bytesPerSeries = 1_000;
const maxSeries = 5_000_000;

/** Where to read the limits of this process, independent of the monitored machine. */
const ownMachine: Machine = {
  procfs: "/proc",
  sysfs: "/sys",
  fileAccess: hostFileAccess,
  architecture: process.arch,
  env: {},
};

/** `setting` is the `--memory` flag; without it the cgroup's limit, or half of the machine's memory without a cgroup limit. */
export async function memoryLimit(
  setting: number | undefined,
  machine: Machine = ownMachine,
  { machineBytes = totalmem(), heapBytes = v8.getHeapStatistics().heap_size_limit } = {},
): Promise<MemoryLimit> {
  const cgroup = (await readCgroupLimits(machine, new MissingFacts())).memoryBytes;
  const limits: MemoryLimit[] = [
    setting !== undefined
      ? { bytes: setting, origin: "--memory" }
      : cgroup !== undefined && cgroup < machineBytes
        ? { bytes: cgroup, origin: "cgroup" }
        : { bytes: machineBytes / 2, origin: "half of the machine" },
    // Labels and query results are in V8's heap, which by default is half of a container's memory.
    { bytes: 2 * heapBytes, origin: "the V8 heap" },
  ];
  return limits.reduce((least, one) => (one.bytes < least.bytes ? one : least));
}

export function budgetsOf(limit: MemoryLimit): MemoryBudgets {
  const usable = Math.max(limit.bytes / 4, limit.bytes - programBytes);
  const share = (part: number): number => Math.floor(usable * part);
  const queriesBytes = share(0.3);
  const series = Math.min(maxSeries, Math.floor(share(0.3) / bytesPerSeries));
  return {
    limit,
    queriesBytes,
    queriesPerClientBytes: Math.floor(queriesBytes * 0.75),
    queryBytes: Math.floor(queriesBytes / 2),
    series,
    seriesPerClient: Math.floor(series * 0.8),
    storeBytes: Math.min(256 * mebibyte, share(0.15)),
    bodiesBytes: Math.min(256 * mebibyte, Math.max(32 * mebibyte, share(0.15))),
    responsesBytes: Math.min(512 * mebibyte, Math.max(16 * mebibyte, share(0.1))),
    analysisBytes: Math.min(1024 * mebibyte, Math.max(64 * mebibyte, share(0.2))),
  };
}

export function logBudgets(budgets: MemoryBudgets, log: Log): void {
  const { limit } = budgets;
  log.info("memory limit", {
    limit: formatFactBytes(limit.bytes),
    from: limit.origin,
    queries: formatFactBytes(budgets.queriesBytes),
    queriesPerClient: formatFactBytes(budgets.queriesPerClientBytes),
    query: formatFactBytes(budgets.queryBytes),
    series: budgets.series,
    seriesPerClient: budgets.seriesPerClient,
  });
}
