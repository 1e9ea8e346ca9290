/**
 * Detects memory of one job that keeps growing and never shrinks. A job that loads its data, or fills a cache and stops, is not a
 * leak.
 */
import { gpu } from "../../../../model/catalogue/index.ts";
import type { ReadingBlock } from "../block.ts";
import {
  type Detection,
  type Detector,
  type DetectorContext,
  digits,
  normalDetection,
  selector,
  undecidedDetection,
} from "./detector.ts";

const lookMs = 30_000;
/** At least eight minutes of growth and at most an hour; beyond that, every other sample is dropped. */
const leastLooks = 16;
const mostLooks = 128;
/** As a share of the card's memory. */
const leastShare = 0.02;
const parts = 4;
const mib = 2 ** 20;

export class MemoryLeakDetector implements Detector {
  readonly kind = "memory_leak";
  readonly times = { beginAfterMs: 60_000, endAfterMs: 300_000 };
  #bytes: number[] = [];
  #everyMs = lookMs;
  #lastMs = Number.NEGATIVE_INFINITY;
  #owner: string | undefined;

  see(block: ReadingBlock, { device, readings }: DetectorContext): Detection {
    const { memoryBytes, owner } = block;
    const total = readings.get("memoryTotalBytes");
    if (memoryBytes === undefined || total === undefined) return undecidedDetection;
    const last = this.#bytes.at(-1);
    // If no owner is reported, freed memory means that another job began.
    const isNewJob =
      owner !== this.#owner || (last !== undefined && memoryBytes < last - 0.02 * total);
    this.#owner = owner;
    if (isNewJob) {
      this.restart();
      return normalDetection;
    }
    if (block.endMs - this.#lastMs < this.#everyMs) return this.#judge(total, device);
    this.#lastMs = block.endMs;
    this.#bytes.push(memoryBytes);
    if (this.#bytes.length > mostLooks) {
      this.#bytes = this.#bytes.filter((_, at) => at % 2 === 0);
      this.#everyMs *= 2;
    }
    return this.#judge(total, device);
  }

  restart(): void {
    this.#bytes = [];
    this.#everyMs = lookMs;
    this.#lastMs = Number.NEGATIVE_INFINITY;
  }

  /** Also checks the newest stretch alone, so that a quiet beginning does not hide a later leak. */
  #judge(total: number, device: DetectorContext["device"]): Detection {
    const kept = this.#bytes;
    if (kept.length < leastLooks) return undecidedDetection;
    const bytes = kept.slice(-Math.max(leastLooks, Math.min(kept.length, 2 * leastLooks)));
    for (const stretch of [bytes, bytes.slice(-leastLooks)])
      if (isLeak(stretch, total)) return this.#found(stretch, total, device);
    return normalDetection;
  }

  #found(bytes: readonly number[], total: number, device: DetectorContext["device"]): Detection {
    const first = bytes[0] ?? 0;
    const last = bytes.at(-1) ?? 0;
    const minutes = ((bytes.length - 1) * this.#everyMs) / 60_000;
    const perMinute = (last - first) / minutes;
    const fullMinutes = (total - last) / perMinute;
    return {
      verdict: true,
      evidence: () => ({
        seen: last,
        expected: first,
        unit: "bytes",
        sigmas: (last - first) / ((leastShare * total) / 5),
        says: `Used memory grew from ${digits(first / mib)} to ${digits(last / mib)} MiB within ${digits(minutes)} minutes of one job and never shrank, ${digits(perMinute / mib)} MiB a minute; at that pace it is full in ${digits(fullMinutes)} minutes.`,
        series: [selector(gpu.memoryUsed.name, device)],
      }),
    };
  }
}

/** True if memory grows in most samples, never shrinks noticeably, and grows no faster at first than later. */
function isLeak(bytes: readonly number[], total: number): boolean {
  const growth = (bytes.at(-1) ?? 0) - (bytes[0] ?? 0);
  if (growth < leastShare * total) return false;
  let grew = 0;
  for (let at = 1; at < bytes.length; at++) {
    const step = (bytes[at] ?? 0) - (bytes[at - 1] ?? 0);
    if (step < -0.02 * growth) return false;
    if (step > 0.1 * (growth / bytes.length)) grew += 1;
  }
  if (grew < 0.6 * (bytes.length - 1)) return false;
  const grown = Array.from({ length: parts }, (_, part) => {
    const from = bytes[Math.floor((part * (bytes.length - 1)) / parts)] ?? 0;
    const to = bytes[Math.floor(((part + 1) * (bytes.length - 1)) / parts)] ?? 0;
    return to - from;
  });
  if (grown.some((part) => part < (0.5 * growth) / parts)) return false;
  // Growth towards a limit slows down; a leak does not.
  return (grown.at(-1) ?? 0) >= 0.65 * (grown[0] ?? 0);
}
