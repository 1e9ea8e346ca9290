/** Iterates over time window by window and emits one frame per timestamp. The query is up to the engine. */
import { GpulseError } from "../../base/error.ts";
import { gpu } from "../../model/catalogue/index.ts";
import { type Device, deviceFromLabels } from "../../model/device.ts";
import { type Layout, type Series, seriesKey } from "../../model/layout.ts";
import { presence } from "../../model/presence.ts";
import type { Emit, StreamingSource } from "../source.ts";

export interface BackfillSeries {
  readonly series: Series;
  readonly points: readonly (readonly [timeMs: number, value: number])[];
  /** Present if the engine's tags identify the device. */
  readonly device?: Device | undefined;
}

export interface BackfillEngine {
  /** Returns everything from `fromMs` (inclusive) to `toMs` (exclusive). */
  read(fromMs: number, toMs: number, signal: AbortSignal): Promise<readonly BackfillSeries[]>;
  close(): void;
}

export interface BackfillRange {
  readonly startMs: number;
  readonly endMs: number;
  readonly windowMs: number;
}

export class BackfillSource implements StreamingSource {
  readonly shape = "streaming";
  readonly #engine: BackfillEngine;
  readonly #span: BackfillRange;
  readonly #devices = new Map<string, Device>();
  readonly #layouts = new Map<string, Layout>();

  constructor(engine: BackfillEngine, span: BackfillRange) {
    this.#engine = engine;
    this.#span = span;
  }

  devices(): readonly Device[] {
    return [...this.#devices.values()];
  }

  async run(emit: Emit, signal: AbortSignal): Promise<void> {
    const { startMs, endMs, windowMs } = this.#span;
    let emitted = 0;
    for (let from = startMs; from < endMs && !signal.aborted; from += windowMs) {
      const found = await this.#engine.read(from, Math.min(from + windowMs, endMs), signal);
      emitted += await this.#emit(found, emit, signal);
    }
    if (emitted === 0 && !signal.aborted)
      throw new GpulseError(
        "FILE_UNREADABLE",
        "There is no data between start and end: check them, and the selector.",
      );
  }

  close(): void {
    this.#engine.close();
  }

  async #emit(found: readonly BackfillSeries[], emit: Emit, signal: AbortSignal): Promise<number> {
    const instants = new Map<number, [Series, number][]>();
    for (const { series, points, device } of found) {
      if (device !== undefined) this.#devices.set(device.uuid, device);
      this.#learn(series);
      for (const [timeMs, value] of points) {
        const instant = instants.get(timeMs);
        if (instant === undefined) instants.set(timeMs, [[series, value]]);
        else instant.push([series, value]);
      }
    }
    for (const timeMs of [...instants.keys()].sort((a, b) => a - b)) {
      if (signal.aborted) break;
      const cells = instants.get(timeMs) ?? [];
      await emit({
        timeMs,
        layout: this.#layout(cells.map(([series]) => series)),
        values: Float64Array.from(cells, ([, value]) => value),
        presence: new Uint8Array(cells.length).fill(presence.present),
      });
    }
    return instants.size;
  }

  #layout(series: readonly Series[]): Layout {
    const key = series.map(seriesKey).join("\n");
    const known = this.#layouts.get(key);
    if (known !== undefined) return known;
    if (this.#layouts.size > 1_000) this.#layouts.clear();
    const layout = { series };
    this.#layouts.set(key, layout);
    return layout;
  }

  #learn({ metric, labels }: Series): void {
    if (metric !== gpu.info) return;
    const device = deviceFromLabels(Object.fromEntries(labels));
    if (device !== undefined && !this.#devices.has(device.uuid))
      this.#devices.set(device.uuid, device);
  }
}
