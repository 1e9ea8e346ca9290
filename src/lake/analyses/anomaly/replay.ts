/**
 * Replays frames from the history in time order: to warm up a starting watch, and to find out which anomalies it would have
 * reported. Read-only; holds a few minutes of samples at a time.
 */
import { findMetric, type Tier } from "../../../model/catalogue/index.ts";
import { type Frame, FrameWriter } from "../../../model/frame.ts";
import { labelValue } from "../../../model/labels.ts";
import { LayoutBuilder } from "../../../model/layout.ts";
import type { SampleColumn, Queryable } from "../../../model/select.ts";
import { metricNames } from "./readings.ts";

export interface FrameReplayOptions {
  readonly fromMs: number;
  readonly toMs: number;
  /** Frames of one machine closer together than this are skipped; 0 replays every one. */
  readonly everyMs: number;
  readonly signal?: AbortSignal;
}

/** A hub's samples of the whole fleet for this long fit into memory. */
const windowMs = 2 * 60_000;
/** At one instant, slow-changing tiers come first, as sources report them. */
const tierOrder: Readonly<Record<Tier, number>> = { static: 0, slow: 1, fast: 2 };

export async function* replayFrames(
  history: Queryable,
  options: FrameReplayOptions,
): AsyncGenerator<Frame> {
  const { fromMs, toMs, everyMs, signal } = options;
  const matchers = [{ name: "__name__", op: "=~", value: metricNames.join("|") }] as const;
  for (let startMs = fromMs; startMs < toMs; startMs += windowMs) {
    if (signal?.aborted === true) return;
    const endMs = Math.min(toMs, startMs + windowMs) - 1;
    const groups = new Map<string, Group>();
    for (const { labels, column } of await history.select(matchers, startMs, endMs, signal)) {
      const metric = findMetric(labelValue(labels, "__name__") ?? "");
      if (metric === undefined) continue;
      const key = `${metric.tier}\n${labelValue(labels, "host") ?? ""}\n${labelValue(labels, "instance") ?? ""}`;
      let group = groups.get(key);
      if (group === undefined) groups.set(key, (group = new Group(metric.tier)));
      const own = labels.filter(([name]) => name !== "__name__");
      group.add(column, () => group.builder.add(metric, own));
    }
    const frames = [...groups.values()].flatMap((group) => group.frames(everyMs));
    frames.sort(
      (left, right) => left.frame.timeMs - right.frame.timeMs || left.order - right.order,
    );
    for (const { frame } of frames) yield frame;
  }
}

/** The series of one machine and schedule. */
class Group {
  readonly builder = new LayoutBuilder();
  readonly #order: number;
  readonly #columns: SampleColumn[] = [];

  constructor(tier: Tier) {
    this.#order = tierOrder[tier];
  }

  add(column: SampleColumn, register: () => number): void {
    register();
    this.#columns.push(column);
  }

  frames(everyMs: number): { readonly frame: Frame; readonly order: number }[] {
    const layout = this.builder.build();
    const places = this.#columns.map(() => 0);
    const frames: { readonly frame: Frame; readonly order: number }[] = [];
    for (const timeMs of this.#times(everyMs)) {
      const writer = new FrameWriter(layout, timeMs);
      this.#columns.forEach(({ times, values, stale }, slot) => {
        let at = places[slot] ?? 0;
        while (at < times.length && (times[at] ?? 0) < timeMs) at++;
        places[slot] = at;
        if (times[at] === timeMs && stale?.[at] !== 1) writer.set(slot, values[at] ?? 0);
      });
      frames.push({ frame: writer.finish(), order: this.#order });
    }
    return frames;
  }

  #times(everyMs: number): number[] {
    const all = new Set<number>();
    // Series that are read together share one array of times.
    for (const times of new Set(this.#columns.map((column) => column.times)))
      for (const timeMs of times) all.add(timeMs);
    let lastMs = Number.NEGATIVE_INFINITY;
    return [...all]
      .sort((left, right) => left - right)
      .filter((timeMs) => {
        if (timeMs - lastMs < everyMs) return false;
        lastMs = timeMs;
        return true;
      });
  }
}
