/**
 * Measures the JavaScript runtime of this process: event loop delay, heap and garbage collection. A timer measures the delay; V8
 * counts the rest.
 */
import {
  constants,
  createHistogram,
  type PerformanceEntry,
  PerformanceObserver,
} from "node:perf_hooks";
import { getHeapStatistics } from "node:v8";
import { self } from "../model/catalogue/index.ts";
import { HistogramObserver } from "../model/histogram/observer.ts";
import type { EventLoopLag, GcFacts, RuntimeFacts } from "../pipeline/self.ts";

/**
 * Period of the timer that measures the delay. Its wake-ups cost an idle process 0.02 % of a core at 1 s, 0.08 % at 250 ms and
 * 0.3 % at 50 ms. A stall shorter than the period is measured only if it delays a tick.
 */
export const lagResolutionMs = { agent: 1_000, hub: 50 } as const;

/** All reads within this time return the same window, so that one reader does not hide a stall from another. */
const windowMs = 15_000;

const gcKinds = new Map<number, string>([
  [constants.NODE_PERFORMANCE_GC_MAJOR, "major"],
  [constants.NODE_PERFORMANCE_GC_MINOR, "minor"],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, "incremental"],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, "weakcb"],
]);

interface GcCounts {
  readonly buckets: number[];
  count: number;
  sumSeconds: number;
  readonly observer: HistogramObserver;
}

export class RuntimeMonitor {
  /** Delays in microseconds; the lowest is 1. */
  readonly #delays = createHistogram({ lowest: 1, highest: 3_600_000_000, figures: 2 });
  readonly #timer: NodeJS.Timeout;
  readonly #observer: PerformanceObserver;
  readonly #gc = new Map<string, GcCounts>();
  /** The delay in the last finished window. */
  #lag: EventLoopLag | undefined;
  #windowStartMs: number;

  constructor(resolutionMs: number, nowMs: number) {
    // Not monitorEventLoopDelay(): its reset() ignores the next tick, and with it a stall that begins there.
    let tickMs = performance.now();
    this.#timer = setInterval(() => {
      const lateMs = performance.now() - tickMs - resolutionMs;
      tickMs = performance.now();
      this.#delays.record(Math.max(1, Math.round(lateMs * 1_000)));
    }, resolutionMs).unref();
    this.#windowStartMs = nowMs;
    this.#observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) this.#countGc(entry);
    });
    this.#observer.observe({ entryTypes: ["gc"] });
  }

  read(nowMs: number): RuntimeFacts {
    const heap = getHeapStatistics();
    return {
      lag: this.#readLag(nowMs),
      heapUsedBytes: heap.used_heap_size,
      heapTotalBytes: heap.total_heap_size,
      heapLimitBytes: heap.heap_size_limit,
      externalBytes: heap.external_memory,
      gc: [...this.#gc].map(([kind, { observer, ...counts }]): GcFacts => ({
        kind,
        ...counts,
        native: observer.histogram(),
      })),
    };
  }

  close(): void {
    clearInterval(this.#timer);
    this.#observer.disconnect();
  }

  #readLag(nowMs: number): EventLoopLag | undefined {
    if (this.#lag !== undefined && nowMs - this.#windowStartMs < windowMs) return this.#lag;
    const delays = this.#delays;
    if (delays.count === 0) return this.#lag;
    const lag: EventLoopLag = {
      meanSeconds: delays.mean / 1e6,
      p50Seconds: delays.percentile(50) / 1e6,
      p90Seconds: delays.percentile(90) / 1e6,
      p99Seconds: delays.percentile(99) / 1e6,
      maxSeconds: delays.max / 1e6,
    };
    if (nowMs - this.#windowStartMs >= windowMs) {
      delays.reset();
      this.#windowStartMs = nowMs;
      this.#lag = lag;
    }
    return lag;
  }

  /** Node's types lack `detail`, which every entry of this kind has. */
  #countGc(entry: PerformanceEntry & { readonly detail?: { readonly kind?: number } }): void {
    const durationMs = entry.duration;
    const kind = gcKinds.get(entry.detail?.kind ?? 0);
    if (kind === undefined) return;
    const bounds = self.gcDuration.buckets ?? [];
    const counts = this.#gc.get(kind) ?? {
      buckets: bounds.map(() => 0),
      count: 0,
      sumSeconds: 0,
      observer: new HistogramObserver(),
    };
    this.#gc.set(kind, counts);
    counts.count++;
    counts.sumSeconds += durationMs / 1_000;
    counts.observer.observe(durationMs / 1_000);
    bounds.forEach((bound, at) => {
      if (durationMs / 1_000 <= bound) counts.buckets[at] = (counts.buckets[at] ?? 0) + 1;
    });
  }
}
