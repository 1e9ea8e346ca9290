/** Self-metrics of the process, its sources and sinks, and of a pipe. */
import { openMetricsFloat } from "../formats/exposition/open-metrics-float.ts";
import type { Histogram } from "../model/histogram/histogram.ts";
import { buildCommit } from "../base/build-info.ts";
import { self } from "../model/catalogue/index.ts";
import { presenceNames } from "../model/presence.ts";
import type { CollectMetrics, PutMetric } from "../model/self-frames.ts";
import type { Outlet } from "./outlet.ts";
import type { Delivery, Sink } from "./sink.ts";
import type { SourceState } from "./source-state.ts";
import type { DropReason } from "./spool/drops.ts";
import type { Pipe } from "./stream/pipe.ts";

export interface ProcessFacts {
  readonly cpuSeconds: number;
  /** Undefined if the operating system does not report it. */
  readonly residentBytes: number | undefined;
  readonly startTimeSeconds: number;
  /** Undefined if the operating system does not report it. */
  readonly openFiles: number | undefined;
}

/** The event loop's timer delay over the last window. */
export interface EventLoopLag {
  readonly meanSeconds: number;
  readonly p50Seconds: number;
  readonly p90Seconds: number;
  readonly p99Seconds: number;
  readonly maxSeconds: number;
}

/** Garbage collections of one kind. `buckets` holds the cumulative counts for the bounds of the metric's histogram. */
export interface GcFacts {
  readonly kind: string;
  readonly buckets: readonly number[];
  readonly count: number;
  readonly sumSeconds: number;
  readonly native: Histogram;
}

export interface RuntimeFacts {
  /** Undefined until the first measurement. */
  readonly lag: EventLoopLag | undefined;
  readonly heapUsedBytes: number;
  readonly heapTotalBytes: number;
  readonly heapLimitBytes: number;
  readonly externalBytes: number;
  readonly gc: readonly GcFacts[];
}

export interface SelfInput {
  readonly version: string;
  readonly nodeVersion: string;
  readonly states: readonly SourceState[];
  readonly outlets: readonly Pick<Outlet, "name" | "counts">[];
  readonly served: readonly Delivery[];
  readonly process: ProcessFacts;
  /** The process's memory limit; absent if it has none of its own. */
  readonly memoryLimitBytes?: number | undefined;
  readonly runtime?: RuntimeFacts;
}

export function collectSelf(put: PutMetric, nowMs: number, input: SelfInput): void {
  put(self.buildInfo, 1, {
    version: input.version,
    revision: buildCommit(),
    node: input.nodeVersion,
  });
  for (const { name, tiers, rejectedRows, rejected, process } of input.states) {
    const ofSource = { source: name };
    const { restarts, cpuSeconds, residentBytes } = process?.() ?? {};
    put(self.sourceRejectedRows, rejectedRows?.(), ofSource);
    for (const { metric, reason, count } of rejected?.values() ?? [])
      put(self.readingsRejected, count, { ...ofSource, metric, reason });
    put(self.sourceRestarts, restarts, ofSource);
    put(self.sourceProcessCpu, cpuSeconds, ofSource);
    put(self.sourceProcessMemory, residentBytes, ofSource);
    for (const counts of tiers.values()) {
      const { tier, success, lastSuccessMs } = counts;
      const ofTier = { source: name, tier };
      put(self.sourceUp, success === undefined ? undefined : Number(success), ofTier);
      put(self.sourceDuration, counts.lastDurationSeconds, ofTier);
      put(
        self.sourceLastSuccess,
        lastSuccessMs === undefined ? undefined : lastSuccessMs / 1_000,
        ofTier,
      );
      for (const [outcome, count] of Object.entries(counts.reads))
        put(self.sourceReads, count, { ...ofTier, outcome });
      put(self.sourceSkipped, counts.skippedTicks, ofTier);
      for (const state of presenceNames)
        if (state !== "ended" && state !== "exporter reports 0")
          put(self.sourceReadings, counts.readings?.[state], { ...ofTier, state });
    }
  }
  for (const { source, tier, frame } of input.served) {
    put(self.frameAge, Math.max(0, nowMs - frame.timeMs) / 1_000, { source, tier });
  }
  for (const { name, counts } of input.outlets) {
    put(self.sinkFrames, counts.frames, { sink: name });
    put(self.sinkDropped, counts.dropped, { sink: name });
    put(self.sinkFailures, counts.failures, { sink: name });
  }
  put(self.cpu, input.process.cpuSeconds);
  put(self.residentMemory, input.process.residentBytes);
  put(self.memoryLimit, input.memoryLimitBytes);
  put(self.startTime, input.process.startTimeSeconds);
  put(self.openFiles, input.process.openFiles);
  if (input.runtime !== undefined) putRuntime(put, input.runtime);
}

function putRuntime(put: PutMetric, { lag, gc, ...heap }: RuntimeFacts): void {
  put(self.lagMean, lag?.meanSeconds);
  put(self.lagP50, lag?.p50Seconds);
  put(self.lagP90, lag?.p90Seconds);
  put(self.lagP99, lag?.p99Seconds);
  put(self.lagMax, lag?.maxSeconds);
  put(self.heapUsed, heap.heapUsedBytes);
  put(self.heapTotal, heap.heapTotalBytes);
  put(self.heapLimit, heap.heapLimitBytes);
  put(self.external, heap.externalBytes);
  for (const { kind, buckets, count, sumSeconds } of gc) {
    [...(self.gcDuration.buckets ?? []), Infinity].forEach((bound, at) => {
      const le = openMetricsFloat(bound);
      put(self.gcDuration, buckets[at] ?? count, { kind, le }, "_bucket");
    });
    put(self.gcDuration, sumSeconds, { kind }, "_sum");
    put(self.gcDuration, count, { kind }, "_count");
  }
}

const dropReasons: readonly DropReason[] = ["full", "old", "disk", "damaged"];

/** Metrics of the sinks that send over a network; other sinks have none. */
export function shippingMetrics(sinks: readonly Sink[]): CollectMetrics {
  const byName = new Map(sinks.map((sink) => [sink.name, sink]));
  return (put) => {
    for (const [name, sink] of byName) {
      const stats = sink.shipping?.();
      if (stats === undefined) continue;
      const { spool, ship } = stats;
      const labels = { sink: name };
      put(self.spoolBytes, spool.bytes, labels);
      put(self.spoolRecords, spool.records, labels);
      for (const reason of dropReasons)
        put(self.spoolDropped, spool.dropped[reason].samples, { ...labels, reason });
      put(self.shipSamples, ship.sentSamples, { ...labels, outcome: "sent" });
      put(self.shipSamples, ship.refusedSamples, { ...labels, outcome: "refused" });
      put(self.shipRetries, ship.retries, labels);
      put(self.shipLag, ship.lagSeconds, labels);
      put(self.shipUp, ship.problem === undefined ? 1 : 0, labels);
      put(self.shipClockDifference, ship.clockAheadSeconds, labels);
      put(self.shipRestamped, ship.restampedSamples, labels);
    }
  };
}

export function collectPipe(put: PutMetric, pipe: Pipe): void {
  for (const [source, { frames, lagSeconds }] of pipe.bySource) {
    put(self.pipeFrames, frames, { source });
    put(self.pipeLag, lagSeconds, { source });
  }
  for (const [source, { log, partition, records }] of pipe.lag())
    put(self.pipeLagRecords, records, { source, log, partition: String(partition) });
  for (const [source, counts] of pipe.letterCounts())
    for (const outcome of ["kept", "counted"] as const)
      put(self.pipeDeadLetters, counts[outcome], { source, outcome });
  const { count, lastMs, durationSeconds } = pipe.checkpoints;
  put(self.pipeCheckpoints, count);
  if (lastMs !== undefined) {
    put(self.pipeLastCheckpoint, lastMs / 1_000);
    put(self.pipeCheckpointDuration, durationSeconds);
  }
  put(self.pipeUncommitted, pipe.uncommitted);
  put(self.pipeLate, pipe.late);
}
