/** The series of a range as columns of cells: the mean of a gauge, the last value and the rate of a counter. */
import { labelKey, type LabelSet, labelValue, withLabels } from "../../model/labels.ts";
import type { SampleColumn } from "../../model/select.ts";
import { fillCells } from "../explain/grid.ts";
import type { ChangeGrid } from "./grid.ts";
import { type WatchedMetric, watchedMetric } from "./watched-series.ts";

export interface SeriesCells {
  readonly labels: LabelSet;
  readonly metric: WatchedMetric;
  /** The mean of a gauge, the last value of a counter; NaN if nothing was read. */
  readonly cells: Float64Array;
}

export class ChangeSeriesTable {
  readonly grid: ChangeGrid;
  readonly #series = new Map<string, SeriesCells>();

  constructor(grid: ChangeGrid) {
    this.grid = grid;
  }

  /** @param decode called only for series that are used */
  take(labels: LabelSet, decode: () => SampleColumn): void {
    const metric = watchedMetric(labelValue(labels, "__name__") ?? "");
    if (metric === undefined) return;
    const { grid } = this;
    // A GPU read by its agent and scraped by the hub is one GPU.
    const own = withLabels(labels, { job: undefined, instance: undefined });
    const key = labelKey(own);
    let series = this.#series.get(key);
    if (series === undefined) {
      const cells = new Float64Array(grid.cellCount).fill(Number.NaN);
      this.#series.set(key, (series = { labels: own, metric, cells }));
    }
    const value = metric.meaning === "gauge" ? "mean" : "last";
    fillCells(series.cells, grid, decode(), value, "max", grid.stepMs);
  }

  get all(): readonly SeriesCells[] {
    return [...this.#series.values()];
  }
}

/** Returns the counter's rate in each cell since the previous reading; NaN after a reset. */
export function ratesOf(counts: Float64Array, stepMs: number): Float64Array {
  const rates = new Float64Array(counts.length).fill(Number.NaN);
  let before = -1;
  for (let cell = 0; cell < counts.length; cell++) {
    const value = counts[cell] as number;
    if (Number.isNaN(value)) continue;
    const growth = before < 0 ? Number.NaN : value - (counts[before] as number);
    if (growth >= 0) rates[cell] = growth / (((cell - before) * stepMs) / 1_000);
    before = cell;
  }
  return rates;
}

/** Returns the index of the newest cell with a value in [from, to), or -1. */
export function lastKnown(cells: Float64Array, from: number, to: number): number {
  for (let cell = to - 1; cell >= from; cell--) if (!Number.isNaN(cells[cell])) return cell;
  return -1;
}

/** Returns the index of the oldest cell with a value in [from, to), or -1. */
export function firstKnown(cells: Float64Array, from: number, to: number): number {
  for (let cell = from; cell < to; cell++) if (!Number.isNaN(cells[cell])) return cell;
  return -1;
}
