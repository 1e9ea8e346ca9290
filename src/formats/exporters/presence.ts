/**
 * Detects GPUs of one exporter and target that have disappeared from its pages while others are still present: a GPU that fell off
 * the bus leaves no series, and exporters write none that reports it. MIG instances are ignored: they come and go by design.
 */
import type { TargetGpu } from "./targets.ts";

/** A GPU is missing after this many of its own intervals, and at least this long: a part of a page may arrive later. */
const missedIntervals = 3;
const leastMissedMs = 30_000;
/** For a GPU that was seen only once. */
const firstIntervalMs = 60_000;
const mostIntervalMs = 5 * 60_000;
/** A target that was unavailable for longer may have been rebuilt with other GPUs. */
const awayMs = 5 * 60_000;
const forgetMs = 24 * 3_600_000;

interface SeenTimes {
  lastMs: number;
  intervalMs: number;
}

export class GpuPresence {
  readonly #seen = new Map<TargetGpu, SeenTimes>();
  #lastMs = Number.NEGATIVE_INFINITY;

  /**
   * The GPUs that are missing at this instant. Out-of-order instants are ignored.
   * @param live the GPUs with series in this instant; an empty list is not a page
   */
  missing(timeMs: number, live: readonly TargetGpu[]): readonly TargetGpu[] {
    if (live.length === 0 || timeMs < this.#lastMs) return [];
    if (timeMs - this.#lastMs > awayMs) this.#seen.clear();
    this.#lastMs = timeMs;
    for (const gpu of live) if (!isInstance(gpu)) this.#see(gpu, timeMs);
    const missing: TargetGpu[] = [];
    for (const [gpu, { lastMs, intervalMs }] of this.#seen) {
      const absentMs = timeMs - lastMs;
      if (absentMs > forgetMs) this.#seen.delete(gpu);
      else if (absentMs > missingAfterMs(intervalMs)) missing.push(gpu);
    }
    return missing;
  }

  #see(gpu: TargetGpu, timeMs: number): void {
    const seen = this.#seen.get(gpu);
    if (seen === undefined) {
      this.#seen.set(gpu, { lastMs: timeMs, intervalMs: firstIntervalMs });
      return;
    }
    const gapMs = timeMs - seen.lastMs;
    // The time for which a GPU was missing does not count as an interval.
    if (gapMs > 0 && gapMs <= missingAfterMs(seen.intervalMs))
      seen.intervalMs = Math.min(mostIntervalMs, gapMs);
    seen.lastMs = timeMs;
  }
}

const missingAfterMs = (intervalMs: number): number =>
  Math.max(leastMissedMs, missedIntervals * intervalMs);

const isInstance = ({ device }: TargetGpu): boolean =>
  device.parent !== undefined || device.uuid.startsWith("MIG-");
