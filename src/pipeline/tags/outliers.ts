/**
 * Detects outliers against a GPU's own recent values: the distance from the running median, in robust standard
 * deviations (1.4826 times the median distance). It needs no model and no stored history, and does not explain causes.
 */
import { findColumn } from "../../model/aliases.ts";
import { seriesOf } from "../../model/columns.ts";
import type { ColumnReader } from "./expression.ts";

export interface OutlierOptions {
  /** Columns or aliases. */
  readonly columns: readonly string[];
  /** Number of previous values to compare with. */
  readonly frames: number;
  /** Number of deviations from which a value is an outlier. */
  readonly score: number;
}

export const defaultOutlierOptions: OutlierOptions = {
  columns: ["gpu_temperature", "board_power"],
  frames: 120,
  score: 8,
};

/** Minimum number of values before any of them can be an outlier. */
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
    // A constant sensor has no deviation: one step of its resolution, or 1 % of the median, is not an outlier.
    const deviation = Math.max(robust * median(distances), step, Math.abs(middle) / 100);
    return deviation > 0 && Math.abs(value - middle) > this.#options.score * deviation;
  }
}

function median(sorted: Float64Array): number {
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? 0;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[half - 1] ?? 0)) / 2;
}
