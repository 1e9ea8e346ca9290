/** The latest update of a feed with its curves, and pictures built from both. Time is an argument. */
import { HISTORY_SECONDS } from "../../view/live/history.ts";
import type { HistoryKey, WireFleet } from "../../view/live/protocol.ts";
import { GpuHistory } from "../../view/gpu-history.ts";
import { type Gpu, gpuOf, gpuId } from "../../view/gpu.ts";
import { CounterMemory } from "./counters.ts";
import type { FeedUpdate, Link, Picture } from "./picture.ts";
import type { GpuTask } from "./process.ts";

export interface FeedStateOptions {
  readonly from: string;
  readonly origin: Picture["origin"];
  readonly intervalMs: number;
}

export class FeedState {
  readonly #options: FeedStateOptions;
  readonly #stepSeconds: number;
  readonly #history: GpuHistory;
  readonly #counters = new CounterMemory();
  #link: Link = { kind: "connecting" };
  #updatedMs: number | undefined;
  #timeMs = 0;
  #gpus: readonly Gpu[] = [];
  #problems: readonly string[] = [];
  #tasks: readonly GpuTask[] = [];
  #areTasksPending = false;

  constructor(options: FeedStateOptions) {
    this.#options = options;
    this.#stepSeconds = Math.max(1, Math.round(options.intervalMs / 1_000));
    this.#history = new GpuHistory(HISTORY_SECONDS * this.#stepSeconds);
  }

  update(next: FeedUpdate, nowMs: number): void {
    const { devices, rows, timeMs, problems, tasks } = next;
    this.#areTasksPending = next.areTasksPending ?? false;
    this.#link = { kind: "live" };
    this.#updatedMs = nowMs;
    this.#timeMs = timeMs;
    this.#problems = problems;
    this.#tasks = tasks;
    this.#gpus = devices.flatMap((device, at) => {
      const row = rows[at];
      return row === undefined ? [] : [gpuOf(device, row, timeMs)];
    });
    for (const gpu of this.#gpus) this.#history.record(gpu);
    this.#counters.update(this.#gpus);
  }

  /** Restores the curves from before this program started. */
  recall(fleet: WireFleet): void {
    this.#history.restore(fleet);
  }

  link(link: Link): void {
    this.#link = link;
  }

  picture(nowMs: number): Picture {
    const { from, origin } = this.#options;
    const endSecond = Math.floor(this.#timeMs / 1_000);
    return {
      from,
      origin,
      link: this.#link,
      silentMs: this.#updatedMs === undefined ? 0 : Math.max(0, nowMs - this.#updatedMs),
      nowMs,
      timeMs: this.#timeMs,
      gpus: this.#gpus,
      tasks: this.#tasks,
      areTasksPending: this.#areTasksPending,
      problems: this.#problems,
      history: (device, key, count) => this.#points(gpuId(device), key, endSecond, count),
      stepSeconds: this.#stepSeconds,
      counters: (gpu) => this.#counters.of(gpu),
    };
  }

  /** Returns one point per reading: the last of its seconds. A second that a tick narrowly missed is not a gap. */
  #points(device: string, key: HistoryKey, endSecond: number, count: number): (number | null)[] {
    const step = this.#stepSeconds;
    const seconds = this.#history.read(device, key, endSecond, (count + 1) * step);
    if (step === 1) {
      const last = seconds.slice(-count);
      return last.map(
        (value, at) => value ?? seconds[seconds.length - last.length + at - 1] ?? null,
      );
    }
    const points: (number | null)[] = [];
    for (let end = seconds.length; end > 0 && points.length < count; end -= step) {
      let value: number | null = null;
      for (let at = end - 1; at >= Math.max(0, end - step - 1); at -= 1)
        value ??= seconds[at] ?? null;
      points.push(value);
    }
    return points.reverse();
  }
}
