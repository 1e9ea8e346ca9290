/** Work counted by a metric of the sources: the increase of its counters from the first to the last instant. */
import type { Frame } from "../../model/frame.ts";
import { seriesKey } from "../../model/layout.ts";
import { presence } from "../../model/presence.ts";
import type { RunSpan } from "../run.ts";

interface CounterSamples {
  readonly timeMs: number[];
  readonly values: number[];
}

export class WorkCounter {
  readonly #metric: string;
  readonly #series = new Map<string, CounterSamples>();

  constructor(metric: string) {
    this.#metric = metric;
  }

  see(frame: Frame): void {
    frame.layout.series.forEach((series, slot) => {
      if (`${series.metric.name}${series.suffix}` !== this.#metric) return;
      if (frame.presence[slot] !== presence.present) return;
      const key = seriesKey(series);
      const counted = this.#series.get(key) ?? { timeMs: [], values: [] };
      this.#series.set(key, counted);
      counted.timeMs.push(frame.timeMs);
      counted.values.push(frame.values[slot] ?? 0);
    });
  }

  /** Summed over its series; undefined if it was not reported at both ends. */
  amount([fromMs, toMs]: RunSpan): number | undefined {
    let sum: number | undefined;
    for (const counted of this.#series.values()) {
      const [from, to] = [valueAt(counted, fromMs), valueAt(counted, toMs)];
      if (from !== undefined && to !== undefined && to >= from) sum = (sum ?? 0) + to - from;
    }
    return sum;
  }
}

/** A counter is interpolated linearly between two readings. */
function valueAt({ timeMs, values }: CounterSamples, atMs: number): number | undefined {
  const after = timeMs.findIndex((ms) => ms >= atMs);
  if (after === -1) return values.at(-1);
  if (after === 0) return values[0];
  const [t0 = 0, t1 = 0, v0 = 0, v1 = 0] = [
    timeMs[after - 1],
    timeMs[after],
    values[after - 1],
    values[after],
  ];
  return v0 + ((v1 - v0) * (atMs - t0)) / (t1 - t0);
}
