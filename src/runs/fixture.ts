/** A small run for tests: one simulated GPU at 10 Hz with known power, work and energy. */
import type { Run, RunFile, RunTrace } from "./run.ts";

export interface RunFixtureOptions {
  readonly id?: string;
  readonly label?: string;
  readonly uuid?: string;
  readonly seconds?: number;
  readonly watts?: number;
  readonly idleWatts?: number;
  readonly celsius?: number;
  readonly utilization?: number;
  readonly work?: number;
  readonly startedMs?: number;
  readonly power?: "board" | "chip";
  readonly samplingMs?: number;
  /** Added to each power reading: 0 up to 1 comes in, watts go out. */
  readonly noise?: (row: number) => number;
  readonly run?: Partial<Run>;
}

const baselineMs = 2_000;

export function fixtureRun(options: RunFixtureOptions = {}): RunFile {
  const uuid = options.uuid ?? "SIM-fixture-0";
  const startedMs = options.startedMs ?? Date.parse("2026-01-01T00:00:00Z");
  const seconds = options.seconds ?? 10;
  const endedMs = startedMs + seconds * 1_000;
  const samplingMs = options.samplingMs ?? 100;
  const watts = options.watts ?? 200;
  const run: Run = {
    format: "gpulse-run",
    version: 1,
    id: options.id ?? "fixture",
    label: options.label ?? "a",
    host: "host-a",
    command: ["./benchmark"],
    startedMs,
    endedMs,
    durationSeconds: seconds,
    exitCode: 0,
    complete: true,
    work: { amount: options.work ?? 1_000, unit: "images", from: "flag" },
    phases: [],
    devices: [
      {
        uuid,
        index: 0,
        vendor: "amd",
        model: "AMD Radeon RX 7800 XT",
        simulated: true,
        host: "host-a",
        power: options.power ?? "board",
        energy: {
          counterJoules: watts * seconds,
          integratedJoules: watts * seconds,
          integratedShare: 1,
        },
      },
    ],
    visible: { variables: {}, hidden: [] },
    samplingMs,
    baselines: {
      before: [startedMs - baselineMs, startedMs],
      after: [endedMs, endedMs + baselineMs],
    },
    overhead: {
      cpuSeconds: 0.1,
      shareOfCore: 0.01,
      cores: 8,
      samplesWanted: seconds * 10,
      samplesTaken: seconds * 10,
    },
    verdict: { verdict: "same", changes: [], foreign: [] },
    hosts: [{ host: "host-a", clockDifferenceMs: 0 }],
    notes: [],
    gpulse: "0.0.0-test",
    ...options.run,
  };
  return {
    run,
    trace: fixtureTrace(uuid, startedMs, endedMs, samplingMs, options),
    before: undefined,
    after: undefined,
    output: new TextEncoder().encode("done\n"),
  };
}

function fixtureTrace(
  uuid: string,
  startedMs: number,
  endedMs: number,
  samplingMs: number,
  options: RunFixtureOptions,
): RunTrace {
  const rows = Math.round((endedMs - startedMs + 2 * baselineMs) / samplingMs) + 1;
  const timeMs = Float64Array.from(
    { length: rows },
    (_, row) => startedMs - baselineMs + row * samplingMs,
  );
  const loaded = (row: number): boolean =>
    (timeMs[row] ?? 0) >= startedMs && (timeMs[row] ?? 0) <= endedMs;
  const column = (value: (row: number) => number): Float64Array =>
    Float64Array.from({ length: rows }, (_, row) => value(row));
  const noise = options.noise ?? (() => 0);
  const columns = new Map<string, Float64Array>([
    [
      (options.power ?? "board") === "board" ? "gpu_power_watts" : "gpu_chip_power_watts",
      column((row) =>
        loaded(row) ? (options.watts ?? 200) + noise(row) : (options.idleWatts ?? 20),
      ),
    ],
    ["gpu_utilization_ratio", column((row) => (loaded(row) ? (options.utilization ?? 0.98) : 0))],
    ["gpu_temperature_celsius_edge", column((row) => (loaded(row) ? (options.celsius ?? 65) : 35))],
    ["gpu_clock_hertz_graphics", column((row) => (loaded(row) ? 2.4e9 : 3e7))],
    ["gpu_throttle_active_power_cap", column((row) => (loaded(row) ? 0 : 0))],
    ["gpu_throttle_active_thermal", column(() => 0)],
  ]);
  return new Map([[uuid, { timeMs, columns }]]);
}
