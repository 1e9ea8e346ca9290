/** One run as numbers: a value of every metric, or the reason why it is missing. Never estimates one. */
import {
  type Distribution,
  distributionOf,
  GAP_DISTANCES,
  meanOf,
  usualDistance,
  weighReadings,
  type WeightedReadings,
} from "./distribution.ts";
import {
  type Metric,
  metrics,
  type SampledColumn,
  throttleColumn,
  throttleMetric,
} from "./metrics.ts";
import type { GpuSeries, RunSeries } from "./series.ts";

export type FigureValue = { readonly value: number } | { readonly why: string };

export interface Figure {
  readonly value: FigureValue;
  readonly distribution?: Distribution;
}

export type Figures = ReadonlyMap<string, Figure>;

/** Energy is reported if power readings cover at least this share of the run. */
const ENOUGH_COVERAGE = 0.95;

/** Every metric that any of the runs may have. */
export function metricsOf(runs: readonly RunSeries[]): readonly Metric[] {
  const reasons = new Set<string>();
  for (const { gpus } of runs)
    for (const { columns } of gpus)
      for (const name of columns.keys())
        if (name.startsWith(throttleColumn)) reasons.add(name.slice(throttleColumn.length));
  return [...metrics, ...[...reasons].sort().map(throttleMetric)];
}

export function figuresOf(run: RunSeries, all: readonly Metric[]): Figures {
  const found = new Map<string, Figure>();
  for (const { key, sampled } of all) {
    if (sampled === undefined) continue;
    const weighted = readings(run, sampled, run.startMs, run.endMs);
    found.set(
      key,
      "why" in weighted
        ? { value: weighted }
        : { value: { value: meanOf(weighted) }, distribution: distributionOf(weighted) },
    );
  }
  const seconds = secondsOf(run);
  const throughput: FigureValue =
    "why" in run.work ? run.work : seconds > 0 ? { value: run.work.amount / seconds } : tooShort;
  const watts = found.get("power")?.value ?? noReading;
  const counter = energyOf(run, "counter");
  const integrated = energyOf(run, "integrated");
  const put = (key: string, value: FigureValue): void => void found.set(key, { value });
  put("duration", { value: seconds });
  put("throughput", throughput);
  put("perWatt", over(throughput, watts));
  put("energyCounter", counter);
  put("energyIntegrated", integrated);
  put("rise", riseOf(run));
  return found;
}

/** Work per joule by one kind of energy, which must be the same for all subjects. */
export const perJoule = (run: RunSeries, joules: FigureValue): FigureValue =>
  "why" in run.work ? run.work : over({ value: run.work.amount }, joules);

export const noReading = { why: "no reading of it" } as const;
const tooShort = { why: "the run has no duration" } as const;
export const secondsOf = ({ durationSeconds, startMs, endMs }: RunSeries): number =>
  durationSeconds ?? (endMs - startMs) / 1_000;

function over(work: FigureValue, divisor: FigureValue): FigureValue {
  if ("why" in work) return work;
  if ("why" in divisor) return { why: `no power: ${divisor.why}` };
  return divisor.value > 0 ? { value: work.value / divisor.value } : { why: "nothing was drawn" };
}

/** One column of a GPU: its rows, and the number of samples in each. */
interface ColumnSeries {
  readonly timeMs: Float64Array;
  readonly values: Float64Array;
  readonly counts?: Float64Array;
}

function columnFor(gpu: GpuSeries, name: string): ColumnSeries | undefined {
  const { power, columns, counts, timeMs } = gpu;
  const own =
    name !== "power" ? name : power === "chip" ? "gpu_chip_power_watts" : "gpu_power_watts";
  const values = name === "power" && power === "none" ? undefined : columns.get(own);
  const count = counts?.get(own);
  return values && { timeMs, values, ...(count === undefined ? {} : { counts: count }) };
}

/** Returns the readings of a run as one curve. */
export function readings(
  run: RunSeries,
  { column, across }: SampledColumn,
  startMs: number,
  endMs: number,
): WeightedReadings | { readonly why: string } {
  const reporting = run.gpus.flatMap((gpu) => columnFor(gpu, column) ?? []);
  if (reporting.length === 0) return noReading;
  if (reporting.length < run.gpus.length && across === "sum")
    return { why: `only ${reporting.length} of ${run.gpus.length} GPUs report it` };
  const [only] = reporting;
  const { timeMs, values, counts } =
    reporting.length === 1 && only !== undefined ? only : together(reporting, across, run);
  return weighReadings(timeMs, values, startMs, endMs, run.samplingMs, counts) ?? noReading;
}

/**
 * Combines several GPUs on one time grid with the step of the slowest sampling, so that no sample counts twice: each GPU
 * contributes its last reading while that is fresh.
 */
function together(
  reporting: readonly ColumnSeries[],
  across: SampledColumn["across"],
  { startMs, endMs, baselineMs, samplingMs }: RunSeries,
): ColumnSeries {
  const fromMs = Math.min(startMs, baselineMs?.[0] ?? startMs);
  const stepMs = Math.max(
    samplingMs,
    ...reporting.map(({ timeMs, values }) =>
      usualDistance(timeMs.filter((_, row) => !Number.isNaN(values[row] ?? Number.NaN))),
    ),
  );
  const count = Math.floor((endMs - fromMs) / stepMs) + 1;
  const timeMs = Float64Array.from({ length: count }, (_, at) => fromMs + at * stepMs);
  const held = reporting.map((one) => hold(one.timeMs, one.values, timeMs, GAP_DISTANCES * stepMs));
  const values = timeMs.map((_, at) => {
    const here = held.map((one) => one[at] ?? Number.NaN);
    const known = here.filter((value) => !Number.isNaN(value));
    if (known.length === 0 || (across === "sum" && known.length < here.length)) return Number.NaN;
    if (across === "max") return Math.max(...known);
    const sum = known.reduce((total, value) => total + value, 0);
    return across === "sum" ? sum : sum / known.length;
  });
  return { timeMs, values };
}

function hold(
  timeMs: Float64Array,
  values: Float64Array,
  grid: Float64Array,
  staleMs: number,
): Float64Array {
  let [row, lastMs, last] = [0, Number.NEGATIVE_INFINITY, Number.NaN];
  return grid.map((at) => {
    while (row < timeMs.length && (timeMs[row] ?? 0) <= at) {
      const value = values[row] ?? Number.NaN;
      if (!Number.isNaN(value)) [lastMs, last] = [timeMs[row] ?? 0, value];
      row += 1;
    }
    return at - lastMs <= staleMs ? last : Number.NaN;
  });
}

function energyOf(run: RunSeries, kind: "counter" | "integrated"): FigureValue {
  let sum = 0;
  for (const gpu of run.gpus) {
    const given = kind === "counter" ? gpu.energy?.counterJoules : gpu.energy?.integratedJoules;
    const joules =
      given !== undefined
        ? { value: given }
        : kind === "counter"
          ? counted(gpu, run)
          : addedUp(gpu, run);
    if ("why" in joules) return joules;
    sum += joules.value;
  }
  return run.gpus.length === 0 ? noReading : { value: sum };
}

function addedUp(gpu: GpuSeries, run: RunSeries): FigureValue {
  const column = columnFor(gpu, "power");
  const weighted =
    column && weighReadings(gpu.timeMs, column.values, run.startMs, run.endMs, run.samplingMs);
  if (weighted === undefined) return noReading;
  if (weighted.coverage < ENOUGH_COVERAGE)
    return { why: `power was read in only ${Math.floor(100 * weighted.coverage)} % of the time` };
  return { value: meanOf(weighted) * secondsOf(run) };
}

/** The counter's increase between the ends of the run, interpolated between the samples around each end. */
function counted({ columns, timeMs }: GpuSeries, { startMs, endMs }: RunSeries): FigureValue {
  const column = columns.get("gpu_energy_joules_total");
  if (column === undefined) return { why: "the device has no counter" };
  const rows = Array.from(timeMs.keys()).filter((row) => !Number.isNaN(column[row] ?? Number.NaN));
  const first = rows.findLastIndex((row) => (timeMs[row] ?? 0) <= startMs);
  const last = rows.findIndex((row) => (timeMs[row] ?? 0) >= endMs);
  if (first < 0 || last < 0) return { why: "the counter was not read on both sides of the run" };
  const within = rows.slice(first, last + 1);
  if (within.some((row, at) => (column[row] ?? 0) < (column[within[at - 1] ?? row] ?? 0)))
    return { why: "the counter was reset during the run" };
  const at = (ms: number): number => {
    const after = within.find((row) => (timeMs[row] ?? 0) >= ms) ?? 0;
    const before = within.findLast((row) => (timeMs[row] ?? 0) <= ms) ?? 0;
    const [low, high] = [column[before] ?? 0, column[after] ?? 0];
    const spanMs = (timeMs[after] ?? 0) - (timeMs[before] ?? 0);
    return spanMs === 0 ? low : low + ((high - low) * (ms - (timeMs[before] ?? 0))) / spanMs;
  };
  return { value: at(endMs) - at(startMs) };
}

/** Relative to the idle baseline: what is left is the run's own heat and not the room's. */
function riseOf(run: RunSeries): FigureValue {
  const { baselineMs, startMs, endMs } = run;
  if (baselineMs === undefined) return { why: "no idle stretch was recorded before it" };
  const edge = { column: "gpu_temperature_celsius_edge", across: "max" } as const;
  const idle = readings(run, edge, baselineMs[0], baselineMs[1]);
  const busy = readings(run, edge, startMs, endMs);
  if ("why" in idle) return { why: "no temperature in the idle stretch before it" };
  return "why" in busy ? busy : { value: meanOf(busy) - meanOf(idle) };
}
