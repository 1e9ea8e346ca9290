/**
 * Collects frames into the rows of a trace: one row per GPU and instant, with the lake's columns. Values without a column are
 * dropped.
 */
import type { GpuTrace, RunTrace } from "../run.ts";
import { columnOf } from "../../model/columns.ts";
import type { Frame } from "../../model/frame.ts";
import { labelValue } from "../../model/labels.ts";
import type { Layout } from "../../model/layout.ts";
import { presence } from "../../model/presence.ts";

/** The slots of one GPU's columns in frames of a layout. */
export interface GpuSlots {
  readonly uuid: string;
  readonly slots: readonly number[];
  readonly columns: readonly string[];
}

interface GpuRows {
  readonly timeMs: number[];
  readonly columns: Map<string, { readonly rows: number[]; readonly values: number[] }>;
}

/** Plans live as long as their layouts, so that a frame needs no planning. */
export class TraceLayoutPlans {
  readonly #plans = new WeakMap<Layout, readonly GpuSlots[]>();
  readonly #wanted: ReadonlySet<string>;

  /** Only these GPUs. */
  constructor(uuids: Iterable<string>) {
    this.#wanted = new Set(uuids);
  }

  of(layout: Layout): readonly GpuSlots[] {
    const known = this.#plans.get(layout);
    if (known !== undefined) return known;
    const gpus = new Map<string, { slots: number[]; columns: string[] }>();
    layout.series.forEach((series, slot) => {
      const uuid = labelValue(series.labels, "uuid");
      const column = columnOf(series);
      if (uuid === undefined || column === undefined || !this.#wanted.has(uuid)) return;
      const own = gpus.get(uuid) ?? { slots: [], columns: [] };
      own.slots.push(slot);
      own.columns.push(column);
      gpus.set(uuid, own);
    });
    const plan = [...gpus].map(([uuid, own]) => ({ uuid, ...own }));
    this.#plans.set(layout, plan);
    return plan;
  }
}

export const valueIn = (frame: Frame, slot: number): number =>
  frame.presence[slot] === presence.present ? (frame.values[slot] ?? Number.NaN) : Number.NaN;

export class TraceBuilder {
  readonly #gpus = new Map<string, GpuRows>();

  /** NaN means no reading. Readings of the same instant share a row, whichever schedule they come from. */
  add(
    uuid: string,
    timeMs: number,
    columns: readonly string[],
    value: (at: number) => number,
  ): void {
    const gpu: GpuRows = this.#gpus.get(uuid) ?? { timeMs: [], columns: new Map() };
    this.#gpus.set(uuid, gpu);
    const row = rowOf(gpu.timeMs, timeMs);
    columns.forEach((name, at) => {
      const reading = value(at);
      if (Number.isNaN(reading)) return;
      const column = gpu.columns.get(name) ?? { rows: [], values: [] };
      gpu.columns.set(name, column);
      column.rows.push(row);
      column.values.push(reading);
    });
  }

  build(): RunTrace {
    return new Map([...this.#gpus].map(([uuid, gpu]) => [uuid, filled(gpu)]));
  }
}

/** Schedules are read one after the other: a slow reading may arrive a few rows late. */
const lookBack = 50;

function rowOf(times: number[], timeMs: number): number {
  for (let row = times.length - 1; row >= Math.max(0, times.length - lookBack); row--)
    if (times[row] === timeMs) return row;
  return times.push(timeMs) - 1;
}

function filled({ timeMs, columns }: GpuRows): GpuTrace {
  const order = timeMs
    .map((_, row) => row)
    .sort((one, other) => (timeMs[one] ?? 0) - (timeMs[other] ?? 0));
  const place = new Uint32Array(order.length);
  order.forEach((row, at) => (place[row] = at));
  const built = new Map<string, Float64Array>();
  for (const [name, { rows, values }] of columns) {
    const column = new Float64Array(timeMs.length).fill(Number.NaN);
    rows.forEach((row, at) => (column[place[row] ?? 0] = values[at] ?? Number.NaN));
    built.set(name, column);
  }
  return { timeMs: Float64Array.from(order, (row) => timeMs[row] ?? 0), columns: built };
}
