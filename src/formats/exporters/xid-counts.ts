/**
 * Counts the XID errors of one GPU from an exporter that reports only the number of the last one. A number that differs from the
 * previous one is an error at that time. A number present at the first scrape is also an error, at an unknown time. A second error
 * with the same number cannot be detected.
 */
import { gpu } from "../../model/catalogue/index.ts";
import { type LabelSet, labelSet } from "../../model/labels.ts";
import type { ListedReading } from "../../model/reading-frames.ts";

/** NVIDIA's numbers are below 200. */
const [maxXid, maxNumbers] = [1_000, 64];

interface SeenXid {
  count: number;
  lastMs: number | undefined;
  readonly labels: LabelSet;
}

export class XidCounts {
  readonly #seen = new Map<number, SeenXid>();
  #last: number | undefined;
  #lastMs = -Infinity;

  /** @param labels those of the GPU's series */
  readings(last: number, timeMs: number, labels: LabelSet): ListedReading[] {
    if (!Number.isInteger(last) || last < 0 || last > maxXid) return [];
    if (timeMs > this.#lastMs) this.#observe(last, timeMs, labels);
    return [
      { metric: gpu.xidWatched, labels, value: 1 },
      ...[...this.#seen.values()].flatMap(({ count, lastMs, labels: own }): ListedReading[] => [
        { metric: gpu.xidErrors, labels: own, value: count },
        ...(lastMs === undefined
          ? []
          : [{ metric: gpu.xidLast, labels: own, value: lastMs / 1_000 }]),
      ]),
    ];
  }

  #observe(last: number, timeMs: number, labels: LabelSet): void {
    const isFirst = this.#last === undefined;
    if (last !== this.#last && last !== 0) {
      const seen = this.#seen.get(last) ?? {
        count: 0,
        lastMs: undefined,
        labels: labelSet({ ...Object.fromEntries(labels), xid: String(last) }),
      };
      seen.count++;
      if (!isFirst) seen.lastMs = timeMs;
      if (this.#seen.size < maxNumbers) this.#seen.set(last, seen);
    }
    [this.#last, this.#lastMs] = [last, timeMs];
  }
}
