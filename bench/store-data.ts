/** Data for the store's benchmark: a fleet generated from a seed, and the recorded trace of a real H200. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { gunzipSync } from "node:zlib";
import { type LabelSet, labelSet } from "../src/model/labels.ts";

export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

export function fleetLabels(gpus: number, metrics: number): LabelSet[] {
  const labels: LabelSet[] = [];
  for (let gpu = 0; gpu < gpus; gpu++)
    for (let metric = 0; metric < metrics; metric++)
      labels.push(
        labelSet({
          __name__: `gpu_metric_${metric}_${["watts", "celsius", "ratio", "bytes"][metric % 4]}`,
          uuid: `GPU-${gpu.toString(16).padStart(8, "0")}-5be5-4ba0-a0d5-5fc4a3a0c1d2`,
          gpu: String(gpu % 8),
          host: `node-${Math.floor(gpu / 8)}`,
          instance: `node-${Math.floor(gpu / 8)}:9400`,
          job: "gpulse",
          model: "NVIDIA H200",
        }),
      );
  return labels;
}

/**
 * The values of the series in order, shaped like sensor values: constants, whole degrees, milliwatts, counters, ratios, steps.
 */
export class FleetValues {
  readonly #next = random(11);
  readonly #state: Float64Array;
  readonly #metrics: number;

  constructor(series: number, metrics: number) {
    this.#metrics = metrics;
    this.#state = new Float64Array(series).map(() => 50 + this.#next() * 20);
  }

  value(series: number): number {
    const next = this.#next;
    const state = this.#state;
    const x = state[series] as number;
    switch ((series % this.#metrics) % 10) {
      case 0:
      case 1:
      case 2:
        return 60;
      case 3:
        if (next() < 0.2) state[series] = x + Math.round((next() - 0.5) * 3);
        return Math.round(x);
      case 4:
        state[series] = x + (next() - 0.5);
        return Math.round((300 + x * 5 + next() * 2) * 10) / 10;
      case 5:
        state[series] = x + Math.round((400 + next() * 5) * 10) / 10;
        return Math.round(x * 10) / 10;
      case 6:
        return next() < 0.7 ? 1 : Math.round(next() * 100) / 100;
      case 7:
        if (next() < 0.02) state[series] = Math.floor(next() * 1e4);
        return Math.round(x) * 1048576;
      case 8:
        if (next() < 0.01) state[series] = next() < 0.5 ? 1980 : 345;
        return Math.round(x) * 1e6;
      default:
        return next() < 0.01 ? 1 : 0;
    }
  }
}

export interface TraceColumn {
  readonly name: string;
  readonly times: Float64Array;
  readonly values: Float64Array;
}

/** Sampled at 20 Hz through NVML; see the README beside it. */
export function traceColumns(): TraceColumn[] {
  const file = path.join(
    import.meta.dirname,
    "../src/sources/sim/captures/h200-first/trace.csv.gz",
  );
  const [header = "", ...lines] = gunzipSync(readFileSync(file))
    .toString("utf8")
    .trim()
    .split("\n");
  const rows = lines.map((line) => line.split(","));
  return header.split(",").flatMap((name, column) => {
    if (column === 0) return [];
    const there = rows.filter((row) => (row[column] ?? "") !== "");
    return [
      {
        name,
        times: Float64Array.from(there, (row) => Number(row[0])),
        values: Float64Array.from(there, (row) => Number(row[column])),
      },
    ];
  });
}
