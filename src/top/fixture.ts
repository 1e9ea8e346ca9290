/** Made-up GPUs for tests of the screen: as many as wanted, some lost, hot, asleep or telling nothing. Never shipped. */
import {
  type ColumnKey,
  columnKeys,
  factKeys,
  type WireDevice,
  type WireRow,
  type WireValue,
} from "../view/live/protocol.ts";
import { FeedState } from "./model/feed-state.ts";
import type { Picture } from "./model/picture.ts";
import type { GpuTask } from "./model/process.ts";

export const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 5);

export interface TopFixtureOptions {
  readonly gpus: number;
  readonly perHost?: number;
  readonly model?: string;
  readonly simulated?: boolean;
  readonly tasks?: readonly GpuTask[];
  readonly origin?: Picture["origin"];
}

export function deviceOf(at: number, options: TopFixtureOptions): WireDevice {
  const perHost = options.perHost ?? options.gpus;
  const facts = Object.fromEntries(
    factKeys.map((key): [string, WireValue] => [key, "unsupported"]),
  );
  return {
    uuid: `GPU-${String(at).padStart(4, "0")}`,
    index: at % perHost,
    host: `node${Math.floor(at / perHost) + 1}`,
    vendor: "nvidia",
    model: options.model ?? "NVIDIA H200",
    simulated: options.simulated ?? false,
    source: "nvidia",
    facts: {
      ...facts,
      memoryTotal: 141 * 2 ** 30,
      powerLimitDefault: 700,
      limitSlowdown: 89,
      limitShutdown: 95,
      clockMaxSm: 1.98e9,
    } as WireDevice["facts"],
  };
}

export function rowOf(
  values: Partial<Record<ColumnKey, WireValue>>,
  more: Partial<WireRow> = {},
): WireRow {
  return {
    values: columnKeys.map((key) => values[key] ?? "unsupported"),
    ageMs: { fast: 100, slow: 100, static: 100 },
    throttle: [],
    ...more,
  };
}

/** The fourth of every ten is lost, the fifth tells nothing, the sixth is at its limit, the seventh sleeps. */
export function rowAt(at: number): WireRow {
  if (at % 10 === 3) return rowOf({ up: 0 });
  if (at % 10 === 4) return rowOf({ up: 1 });
  if (at % 10 === 6) return rowOf({ up: 1, utilization: "asleep", power: "asleep" });
  const isHot = at % 10 === 5;
  return rowOf(
    {
      up: 1,
      utilization: ((at * 37) % 101) / 100,
      memoryUsed: ((at * 13) % 141) * 2 ** 30,
      power: 75 + ((at * 61) % 625),
      powerLimit: 700,
      temperatureEdge: isHot ? 90 : 30 + ((at * 7) % 40),
      clockSm: 1.98e9,
    },
    { throttle: isHot ? ["thermal", "power_cap"] : [] },
  );
}

export function feedStateOf(options: TopFixtureOptions): FeedState {
  const board = new FeedState({
    from: "node1",
    origin: options.origin ?? "local",
    intervalMs: 1_000,
  });
  const places = Array.from({ length: options.gpus }, (_, at) => at);
  const devices = places.map((at) => deviceOf(at, options));
  for (let second = 120; second >= 0; second -= 1) {
    const timeMs = NOW_MS - second * 1_000;
    // A wave, so that curves are seen to be curves.
    const rows = places.map((at) => {
      const row = rowAt(at);
      const values = row.values.map((value, column) =>
        columnKeys[column] === "utilization" && typeof value === "number" && second > 0
          ? (1 + Math.sin((second + at * 9) / 7)) / 2
          : value,
      );
      return { ...row, values };
    });
    board.hear({ devices, rows, timeMs, problems: [], tasks: options.tasks ?? [] }, timeMs);
  }
  return board;
}

export const pictureOf = (options: TopFixtureOptions): Picture =>
  feedStateOf(options).picture(NOW_MS);

export function taskOf(pid: number, more: Partial<GpuTask> = {}): GpuTask {
  return {
    key: `GPU-0000 ${pid}`,
    uuid: "GPU-0000",
    host: "node1",
    gpuIndex: "0",
    pid,
    name: "python",
    memoryBytes: pid * 2 ** 20,
    utilization: 0.5,
    ...more,
  };
}

/** The screen as text, a line each. */
export const textOf = (rows: readonly (readonly { readonly text: string }[])[]): string[] =>
  rows.map((row) => row.map(({ text }) => text).join(""));
