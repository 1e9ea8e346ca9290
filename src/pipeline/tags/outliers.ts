/**
 * Values far from what the same GPU showed just before: their distance from the running median, in robust standard
 * deviations (1.4826 times the median distance). Needs no model and no history; knows nothing of causes.
 */
import { findColumn } from "../../model/aliases.ts";
import { seriesOf } from "../../model/columns.ts";
import type { ColumnReader } from "./expression.ts";

export interface OutlierOptions {
  /** Columns or aliases. */
  readonly columns: readonly string[];
  /** How many values back it looks. */
  readonly frames: number;
  /** How many deviations are unusual. */
  readonly score: number;
}

export const defaultOutlierOptions: OutlierOptions = {
  columns: ["gpu_temperature", "board_power"],
  frames: 120,
  score: 8,
};

/** Before so many values nothing is usual. */
const leastFrames = 30;
const robust = 1.4826;

interface Memory {
  readonly recent: Float64Array;
  count: number;
}

export class OutlierDetector {
  readonly #options: OutlierOptions;
  readonly #columns: readonly { readonly column: string; readonly step: number }[];
  readonly #memories = new Map<string, Memory>();

  constructor(options: OutlierOptions) {
    this.#options = options;
    this.#columns = options.columns.map((name) => {
      const column = findColumn(name)?.column ?? name;
      return { column, step: seriesOf(column)?.metric.resolution ?? 0 };
    });
  }

  tags(gpu: string, read: ColumnReader): string[] {
    const found: string[] = [];
    for (const { column, step } of this.#columns) {
      const value = read(column);
      if (value === undefined) continue;
      const key = `${gpu}\u0000${column}`;
      let memory = this.#memories.get(key);
      if (memory === undefined) {
        memory = { recent: new Float64Array(this.#options.frames), count: 0 };
        this.#memories.set(key, memory);
      }
      if (this.#isUnusual(memory, value, step)) found.push(`unusual_${column}`);
      memory.recent[memory.count % memory.recent.length] = value;
      memory.count++;
    }
    return found;
  }

  #isUnusual({ recent, count }: Memory, value: number, step: number): boolean {
    if (count < Math.min(leastFrames, recent.length)) return false;
    const values = recent.slice(0, Math.min(count, recent.length)).sort();
    const middle = median(values);
    const distances = values.map((one) => Math.abs(one - middle)).sort();
    // A sensor that stood still has no deviation: a step of its own, or a hundredth, is not yet one.
    const deviation = Math.max(robust * median(distances), step, Math.abs(middle) / 100);
    return deviation > 0 && Math.abs(value - middle) > this.#options.score * deviation;
  }
}

function median(sorted: Float64Array): number {
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? 0;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[half - 1] ?? 0)) / 2;
}
