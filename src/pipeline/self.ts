/** gpulse about itself as one more frame, made when it is asked for. */
import { type MetricEntry, self } from "../model/catalogue/index.ts";
import { type Frame, FrameWriter } from "../model/frame.ts";
import { type LabelSet, labelSet, noLabels } from "../model/labels.ts";
import { type Layout, LayoutBuilder, type SampleSuffix } from "../model/layout.ts";
import { presenceNames } from "../model/presence.ts";
import type { Outlet } from "./outlet.ts";
import type { Delivery } from "./sink.ts";
import type { SourceState } from "./source-state.ts";

export interface ProcessFacts {
  readonly cpuSeconds: number;
  /** Undefined where the system does not tell. */
  readonly residentBytes: number | undefined;
  readonly startTimeSeconds: number;
  /** Undefined where the system does not tell. */
  readonly openFiles: number | undefined;
}

/** How late the event loop runs its timers, over the last window. */
export interface EventLoopLag {
  readonly meanSeconds: number;
  readonly p50Seconds: number;
  readonly p90Seconds: number;
  readonly p99Seconds: number;
  readonly maxSeconds: number;
}

/** Garbage collections of one kind; `buckets` counts those up to each bound of the catalogue's histogram. */
export interface GcFacts {
  readonly kind: string;
  readonly buckets: readonly number[];
  readonly count: number;
  readonly sumSeconds: number;
}

export interface RuntimeFacts {
  /** Undefined until it was measured once. */
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
  /** What the process may use; absent where it has no limit of its own. */
  readonly memoryLimitBytes?: number | undefined;
  readonly runtime?: RuntimeFacts;
}

/** Builds the frame; the layout is kept while the set of series stays the same. */
export class SelfFrames {
  #layout: Layout = { series: [] };
  #shape = "";

  at(timeMs: number, input: SelfInput): Frame {
    const samples = collect(timeMs, input);
    const shape = samples
      .map(([metric, labels, , suffix]) => `${metric.name}${suffix}${JSON.stringify(labels)}`)
      .join();
    if (shape !== this.#shape) {
      const builder = new LayoutBuilder();
      for (const [metric, labels, , suffix] of samples) builder.add(metric, labels, suffix);
      this.#layout = builder.build();
      this.#shape = shape;
    }
    const writer = new FrameWriter(this.#layout, timeMs);
    samples.forEach(([, , value], slot) => writer.set(slot, value));
    return writer.finish();
  }
}

type Sample = readonly [MetricEntry, LabelSet, number, SampleSuffix];
type Put = (
  metric: MetricEntry,
  labels: LabelSet,
  value: number | undefined,
  suffix?: SampleSuffix,
) => void;

function collect(timeMs: number, input: SelfInput): Sample[] {
  const samples: Sample[] = [];
  const put: Put = (metric, labels, value, suffix = "") => {
    if (value !== undefined) samples.push([metric, labels, value, suffix]);
  };
  put(self.buildInfo, labelSet({ version: input.version, node: input.nodeVersion }), 1);
  for (const { name, tiers, rejectedRows, process } of input.states) {
    const ofSource = labelSet({ source: name });
    const { restarts, cpuSeconds, residentBytes } = process?.() ?? {};
    put(self.sourceRejectedRows, ofSource, rejectedRows?.());
    put(self.sourceRestarts, ofSource, restarts);
    put(self.sourceProcessCpu, ofSource, cpuSeconds);
    put(self.sourceProcessMemory, ofSource, residentBytes);
    for (const counts of tiers.values()) {
      const of = (extra: Record<string, string> = {}): LabelSet =>
        labelSet({ source: name, tier: counts.tier, ...extra });
      put(self.sourceUp, of(), counts.success === undefined ? undefined : Number(counts.success));
      put(self.sourceDuration, of(), counts.lastDurationSeconds);
      put(
        self.sourceLastSuccess,
        of(),
        counts.lastSuccessMs === undefined ? undefined : counts.lastSuccessMs / 1_000,
      );
      for (const [outcome, count] of Object.entries(counts.reads))
        put(self.sourceReads, of({ outcome }), count);
      put(self.sourceSkipped, of(), counts.skippedTicks);
      for (const state of presenceNames) {
        if (state !== "ended") put(self.sourceReadings, of({ state }), counts.readings?.[state]);
      }
    }
  }
  for (const { source, tier, frame } of input.served) {
    put(self.frameAge, labelSet({ source, tier }), Math.max(0, timeMs - frame.timeMs) / 1_000);
  }
  for (const { name, counts } of input.outlets) {
    put(self.sinkFrames, labelSet({ sink: name }), counts.frames);
    put(self.sinkDropped, labelSet({ sink: name }), counts.dropped);
    put(self.sinkFailures, labelSet({ sink: name }), counts.failures);
  }
  put(self.cpu, noLabels, input.process.cpuSeconds);
  put(self.residentMemory, noLabels, input.process.residentBytes);
  put(self.memoryLimit, noLabels, input.memoryLimitBytes);
  put(self.startTime, noLabels, input.process.startTimeSeconds);
  put(self.openFiles, noLabels, input.process.openFiles);
  if (input.runtime !== undefined) putRuntime(put, input.runtime);
  return samples;
}

function putRuntime(put: Put, { lag, gc, ...heap }: RuntimeFacts): void {
  put(self.lagMean, noLabels, lag?.meanSeconds);
  put(self.lagP50, noLabels, lag?.p50Seconds);
  put(self.lagP90, noLabels, lag?.p90Seconds);
  put(self.lagP99, noLabels, lag?.p99Seconds);
  put(self.lagMax, noLabels, lag?.maxSeconds);
  put(self.heapUsed, noLabels, heap.heapUsedBytes);
  put(self.heapTotal, noLabels, heap.heapTotalBytes);
  put(self.heapLimit, noLabels, heap.heapLimitBytes);
  put(self.external, noLabels, heap.externalBytes);
  for (const { kind, buckets, count, sumSeconds } of gc) {
    const bounds = (self.gcDuration.buckets ?? []).map(String);
    [...bounds, "+Inf"].forEach((le, at) =>
      put(self.gcDuration, labelSet({ kind, le }), buckets[at] ?? count, "_bucket"),
    );
    put(self.gcDuration, labelSet({ kind }), sumSeconds, "_sum");
    put(self.gcDuration, labelSet({ kind }), count, "_count");
  }
}
