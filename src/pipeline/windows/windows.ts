/**
 * Aggregates over windows in the stream's own time, tumbling or sliding. Each GPU and window yields one frame, as soon
 * as a later frame of that GPU shows that the window is over. In memory only: a restart starts new windows.
 */
import { formatDuration } from "../../config/duration.ts";
import { GpulseError } from "../../base/error.ts";
import { findColumn } from "../../model/aliases.ts";
import { seriesOf } from "../../model/columns.ts";
import { entry } from "../../model/catalogue/define.ts";
import type { MetricEntry } from "../../model/catalogue/index.ts";
import { FrameWriter } from "../../model/frame.ts";
import { type LabelSet, noLabels, withLabels } from "../../model/labels.ts";
import { type Layout, LayoutBuilder } from "../../model/layout.ts";
import type { Delivery } from "../sink.ts";
import type { Companion } from "../stream/pipe.ts";
import { LayoutRows, readColumn } from "../tags/rows.ts";
import {
  addValue,
  aggregateOf,
  emptyPane,
  joinPanes,
  type Pane,
  type WindowAggregate,
} from "./pane.ts";

export interface WindowOptions {
  /** Columns or aliases, including user-defined columns. */
  readonly columns: readonly string[];
  readonly aggregates: readonly WindowAggregate[];
  /** Length of a window. */
  readonly overMs: number;
  /** Time between two window ends; equal to the length by default, which makes the windows tumble. */
  readonly everyMs?: number;
}

interface WindowColumn {
  readonly column: string;
  readonly metrics: readonly MetricEntry[];
  readonly labels: LabelSet;
}

interface GpuState {
  readonly layout: Layout;
  /** The newest delivery, the source of a frame's other fields. */
  about: Delivery;
  /** Index of the current pane; it starts at `current * everyMs`. */
  current: number;
  /** By pane index; holds as many panes as a window has. */
  readonly panes: Map<number, Pane[]>;
}

const mostPanes = 10_000;

/** @throws GpulseError if a column is unknown, or if the window length is not a multiple of the step. */
export class WindowAggregator implements Companion {
  readonly #columns: readonly WindowColumn[];
  readonly #aggregates: readonly WindowAggregate[];
  readonly #everyMs: number;
  readonly #paneCount: number;
  readonly #rows = new LayoutRows();
  readonly #gpus = new Map<string, GpuState>();
  #late = 0;

  constructor(options: WindowOptions, ownColumns: ReadonlySet<string> = new Set()) {
    const { overMs, everyMs = overMs } = options;
    const panes = overMs / everyMs;
    if (!Number.isInteger(panes) || panes > mostPanes)
      throw new GpulseError(
        "EXPRESSION",
        `A window of ${formatDuration(overMs)} cannot move by ${formatDuration(everyMs)}: the window must be a whole number of steps, at most ${mostPanes}.`,
      );
    this.#everyMs = everyMs;
    this.#paneCount = panes;
    this.#aggregates = options.aggregates;
    this.#columns = options.columns.map((name) =>
      windowColumn(name, ownColumns, options.aggregates, formatDuration(overMs)),
    );
  }

  get late(): number {
    return this.#late;
  }

  take(delivery: Delivery): readonly Delivery[] {
    const { frame } = delivery;
    const made: Delivery[] = [];
    const place = Math.floor(frame.timeMs / this.#everyMs);
    let isLate = false;
    for (const row of this.#rows.of(frame.layout)) {
      const values = this.#columns.map(({ column }) => readColumn(frame, row, column));
      if (values.every((value) => value === undefined)) continue;
      let gpu = this.#gpus.get(row.key);
      if (gpu === undefined) {
        const layout = this.#layoutOf(row.identity);
        gpu = { layout, about: delivery, current: place, panes: new Map() };
        this.#gpus.set(row.key, gpu);
      }
      if (place < gpu.current) {
        isLate = true;
        continue;
      }
      made.push(...this.#close(gpu, place));
      gpu.about = delivery;
      let panes = gpu.panes.get(place);
      if (panes === undefined) {
        panes = this.#columns.map(emptyPane);
        gpu.panes.set(place, panes);
      }
      for (const [index, value] of values.entries()) {
        const pane = panes[index];
        if (value !== undefined && pane !== undefined) addValue(pane, value);
      }
    }
    if (isLate) this.#late++;
    return made;
  }

  /** Returns the windows that are not complete yet, with their values so far. */
  end(): readonly Delivery[] {
    return [...this.#gpus.values()].flatMap((gpu) => this.#close(gpu, gpu.current + 1));
  }

  /** Returns every window that ends at or before the start of this pane, and removes panes that no later window needs. */
  #close(gpu: GpuState, place: number): Delivery[] {
    const made: Delivery[] = [];
    while (gpu.current < place && gpu.panes.size > 0) {
      const first = gpu.current - this.#paneCount + 1;
      made.push(this.#windowAt(gpu, first));
      gpu.panes.delete(first);
      gpu.current++;
    }
    gpu.current = Math.max(gpu.current, place);
    return made;
  }

  #windowAt(gpu: GpuState, first: number): Delivery {
    const writer = new FrameWriter(gpu.layout, (gpu.current + 1) * this.#everyMs);
    let slot = 0;
    for (const index of this.#columns.keys()) {
      const panes: (Pane | undefined)[] = [];
      for (let place = first; place <= gpu.current; place++)
        panes.push(gpu.panes.get(place)?.[index]);
      const whole = joinPanes(panes);
      for (const aggregate of this.#aggregates) {
        const value = aggregateOf(whole, aggregate);
        if (value === undefined) writer.absent(slot, "unsupported");
        else writer.set(slot, value);
        slot++;
      }
    }
    const { source, tier, freshForMs, devices, host } = gpu.about;
    return {
      frame: writer.finish(),
      source,
      tier,
      freshForMs: Math.max(freshForMs, 3 * this.#everyMs),
      devices,
      ...(host !== undefined && { host }),
    };
  }

  #layoutOf(identity: LabelSet): Layout {
    const builder = new LayoutBuilder();
    for (const { metrics, labels } of this.#columns)
      for (const metric of metrics)
        builder.add(metric, withLabels(labels, Object.fromEntries(identity)));
    return builder.build();
  }
}

function windowColumn(
  name: string,
  ownColumns: ReadonlySet<string>,
  wanted: readonly WindowAggregate[],
  over: string,
): WindowColumn {
  const column = findColumn(name)?.column ?? (ownColumns.has(name) ? name : undefined);
  if (column === undefined)
    throw new GpulseError("EXPRESSION", `A window names a column "${name}" that is not there.`);
  const known = seriesOf(column);
  const base = known?.metric ?? entry("device", column, { help: "A column of the stream's own." });
  const metrics = wanted.map((aggregate): MetricEntry => {
    const unit = aggregate === "count" ? "none" : base.unit;
    return {
      ...base,
      name: `${base.name}:${aggregate}_${over}`,
      kind: "gauge",
      unit,
      help: `${aggregate} over ${over} of: ${base.help}`,
      subject: "device",
      tier: "fast",
      resolution: aggregate === "count" ? 1 : Math.min(base.resolution, 0.001),
      plausible: [-Number.MAX_VALUE, Number.MAX_VALUE],
      given: {},
    };
  });
  return { column, metrics, labels: known?.labels ?? noLabels };
}
