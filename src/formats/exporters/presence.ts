/**
 * Which GPUs of one exporter and target have disappeared from its pages while others are still there: a GPU that fell off the
 * bus leaves no series behind, and exporters write none that says so. MIG instances come and go by design.
 */
import type { TargetGpu } from "./targets.ts";

/** Absent for so many of its own intervals, and for so long at the least: a part of a page may come later. */
const missedIntervals = 3;
const leastMissedMs = 30_000;
/** Of a GPU that was seen once only. */
const firstIntervalMs = 60_000;
const mostIntervalMs = 5 * 60_000;
/** A target that was away for longer may have been rebuilt with other GPUs. */
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
   * The GPUs that are missing at this instant. Instants that come late are looked at for nothing.
   * @param live those that the instant has series of; none is no page
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
    // What it was missing for is no interval.
    if (gapMs > 0 && gapMs <= missingAfterMs(seen.intervalMs))
      seen.intervalMs = Math.min(mostIntervalMs, gapMs);
    seen.lastMs = timeMs;
  }
}

const missingAfterMs = (intervalMs: number): number =>
  Math.max(leastMissedMs, missedIntervals * intervalMs);

const isInstance = ({ device }: TargetGpu): boolean =>
  device.parent !== undefined || device.uuid.startsWith("MIG-");
