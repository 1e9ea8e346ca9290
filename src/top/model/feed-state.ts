/** Keeps what a feed tells, with its curves, and gives pictures of it. Time comes in as an argument. */
import { RecentHistory } from "../../view/live/history.ts";
import { type HistoryKey, historyKeys, type WireFleet } from "../../view/live/protocol.ts";
import { type Gpu, gpuOf, keyOf } from "./gpu.ts";
import type { FeedUpdate, Link, Picture } from "./picture.ts";
import type { GpuTask } from "./process.ts";

const HISTORY_SECONDS = 300;

export interface FeedStateOptions {
  readonly from: string;
  readonly origin: Picture["origin"];
  readonly intervalMs: number;
}

export class FeedState {
  readonly #options: FeedStateOptions;
  readonly #stepSeconds: number;
  readonly #history: RecentHistory;
  #link: Link = { kind: "connecting" };
  #heardMs: number | undefined;
  #timeMs = 0;
  #gpus: readonly Gpu[] = [];
  #problems: readonly string[] = [];
  #tasks: readonly GpuTask[] = [];
  #areTasksPending = false;

  constructor(options: FeedStateOptions) {
    this.#options = options;
    this.#stepSeconds = Math.max(1, Math.round(options.intervalMs / 1_000));
    this.#history = new RecentHistory(HISTORY_SECONDS * this.#stepSeconds);
  }

  hear(heard: FeedUpdate, nowMs: number): void {
    const { devices, rows, timeMs, problems, tasks } = heard;
    this.#areTasksPending = heard.areTasksPending ?? false;
    this.#link = { kind: "live" };
    this.#heardMs = nowMs;
    this.#timeMs = timeMs;
    this.#problems = problems;
    this.#tasks = tasks;
    this.#gpus = devices.flatMap((device, at) => {
      const row = rows[at];
      return row === undefined ? [] : [gpuOf(device, row, timeMs)];
    });
    const second = Math.floor(timeMs / 1_000);
    for (const gpu of this.#gpus) this.#history.write(keyOf(gpu.device), second, pointOf(gpu));
  }

  /** Curves from before this program was started. */
  recall({ devices, history: sent }: WireFleet): void {
    devices.forEach((device, place) => {
      const columns = sent.points[place] ?? [];
      const length = columns[0]?.length ?? 0;
      for (let at = 0; at < length; at += 1) {
        const point: Partial<Record<HistoryKey, number>> = {};
        for (const key of historyKeys) {
          const value = columns[sent.keys.indexOf(key)]?.[at];
          if (typeof value === "number") point[key] = value;
        }
        this.#history.write(keyOf(device), sent.endSecond - length + 1 + at, point);
      }
    });
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
      silentMs: this.#heardMs === undefined ? 0 : Math.max(0, nowMs - this.#heardMs),
      nowMs,
      timeMs: this.#timeMs,
      gpus: this.#gpus,
      tasks: this.#tasks,
      areTasksPending: this.#areTasksPending,
      problems: this.#problems,
      history: (device, key, count) => this.#points(keyOf(device), key, endSecond, count),
    };
  }

  /** One point for each reading: the last of its seconds. A second that a tick just missed is no gap. */
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

function pointOf(gpu: Gpu): Partial<Record<HistoryKey, number>> {
  const point: Partial<Record<HistoryKey, number>> = {};
  if (typeof gpu.utilization === "number") point.utilization = gpu.utilization;
  if (typeof gpu.memoryRatio === "number") point.memoryUsedRatio = gpu.memoryRatio;
  if (typeof gpu.power === "number") point.power = gpu.power;
  if (typeof gpu.temperature === "number") point.temperatureEdge = gpu.temperature;
  return point;
}
