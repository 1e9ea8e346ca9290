/** Repeats with known truth for tests and the benchmark: noise between runs, and readings that follow each other within one. */
import type { RunSeries, ComparisonSubject } from "./series.ts";

export interface Truth {
  readonly name: string;
  readonly repeats: number;
  /** Mean watts over all runs that could ever be. */
  readonly watts: number;
  readonly work?: number;
  readonly unit?: string;
  readonly celsius?: number;
  readonly utilization?: number;
  /** Standard deviation between runs, as a share. */
  readonly between?: number;
  /** The same of the readings within a run, and how much of one is in the next (0 to 1). */
  readonly within?: number;
  readonly following?: number;
  readonly seconds?: number;
  readonly samplingMs?: number;
  readonly power?: "board" | "chip" | "none";
  readonly simulated?: boolean;
  readonly doubts?: readonly string[];
  readonly throttled?: number;
  /** How far from the mean a run may lie; the normal one where not given. */
  readonly draw?: (random: () => number) => number;
}

const start = Date.parse("2026-01-01T00:00:00Z");

/** Box and Muller's. */
export const normal = (random: () => number): number =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

export function repeatsOf(truth: Truth, random: () => number): ComparisonSubject {
  return {
    name: truth.name,
    runs: Array.from({ length: truth.repeats }, (_, at) => runOf(truth, at, random)),
  };
}

function runOf(truth: Truth, at: number, random: () => number): RunSeries {
  const { between = 0, within = 0, following = 0, seconds = 10, samplingMs = 100 } = truth;
  const draw = truth.draw ?? normal;
  const startMs = start + at * 3_600_000;
  const idleMs = 2_000;
  const rows = Math.round((seconds * 1_000 + idleMs) / samplingMs) + 1;
  const level = truth.watts * (1 + between * draw(random));
  const pace = 1 + between * draw(random);
  let state = normal(random);
  const timeMs = new Float64Array(rows);
  const busy = new Float64Array(rows);
  const watts = new Float64Array(rows);
  for (let row = 0; row < rows; row += 1) {
    timeMs[row] = startMs - idleMs + row * samplingMs;
    busy[row] = (timeMs[row] ?? 0) >= startMs ? 1 : 0;
    state = following * state + Math.sqrt(1 - following ** 2) * normal(random);
    watts[row] = busy[row] === 1 ? level * (1 + within * state) : 20;
  }
  const { celsius = 65, utilization = 0.95, throttled = 0, power = "board" } = truth;
  return {
    name: `run ${at + 1}`,
    startMs,
    endMs: startMs + seconds * 1_000,
    samplingMs,
    gpus: [
      {
        uuid: `uuid-${truth.name}`,
        model: `Model ${truth.name}`,
        host: "host-a",
        simulated: truth.simulated ?? true,
        power,
        timeMs,
        columns: new Map([
          [power === "chip" ? "gpu_chip_power_watts" : "gpu_power_watts", watts],
          ["gpu_utilization_ratio", busy.map((one) => one * utilization)],
          ["gpu_temperature_celsius_edge", busy.map((one) => (one === 1 ? celsius : 35))],
          [
            "gpu_throttle_active_power_cap",
            busy.map((one, row) => (one === 1 && (row * 0.618) % 1 < throttled ? 1 : 0)),
          ],
        ]),
      },
    ],
    work:
      truth.work === undefined
        ? { why: "no work was counted" }
        : { amount: truth.work * pace, unit: truth.unit ?? "images" },
    baselineMs: [startMs - idleMs, startMs - 1],
    doubts: truth.doubts ?? [],
  };
}
