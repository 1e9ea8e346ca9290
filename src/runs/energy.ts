/** Energy between two instants of a trace: from the hardware's counter and by integrating power. Pure; gaps are never filled. */
import type { GpuTrace, PowerKind, RunEnergy, RunSpan } from "./run.ts";

/** Instantaneous power comes first: averaged power lags a second behind and misses the end of a load. */
const powerColumns = [
  "gpu_power_instant_watts",
  "gpu_power_watts",
  "gpu_chip_power_watts",
] as const;
const counterColumn = "gpu_energy_joules_total";

export function powerKindOf(trace: GpuTrace | undefined): PowerKind {
  if (trace === undefined) return "none";
  if (hasValues(trace, "gpu_power_watts") || hasValues(trace, "gpu_power_instant_watts"))
    return "board";
  return hasValues(trace, "gpu_chip_power_watts") ? "chip" : "none";
}

export function energyOf(
  trace: GpuTrace | undefined,
  span: RunSpan,
  samplingMs: number,
): RunEnergy {
  if (trace === undefined) return {};
  const column = powerColumns.find((name) => hasValues(trace, name));
  const power = column === undefined ? undefined : points(trace, column);
  const integrated =
    power === undefined ? undefined : integrate(power, span, Math.max(1_000, 5 * samplingMs));
  const counterJoules = counted(points(trace, counterColumn), power ?? [], span);
  return {
    ...(counterJoules === undefined ? {} : { counterJoules }),
    ...(integrated === undefined || integrated.coveredMs === 0
      ? {}
      : {
          integratedJoules: integrated.joules,
          integratedShare: integrated.coveredMs / Math.max(1, span[1] - span[0]),
        }),
  };
}

export interface Point {
  readonly timeMs: number;
  readonly value: number;
}

/** The present readings of a column, in time order. */
export function points(trace: GpuTrace, column: string): Point[] {
  const values = trace.columns.get(column);
  const found: Point[] = [];
  if (values === undefined) return found;
  for (let row = 0; row < values.length; row++) {
    const value = values[row] ?? Number.NaN;
    if (!Number.isNaN(value)) found.push({ timeMs: trace.timeMs[row] ?? 0, value });
  }
  return found.sort((one, other) => one.timeMs - other.timeMs);
}

/** Integrates by trapezoids, cut at the ends of the span; the time between readings further apart than the gap is not covered. */
export function integrate(
  power: readonly Point[],
  [fromMs, toMs]: RunSpan,
  gapMs: number,
): { readonly joules: number; readonly coveredMs: number } {
  let joules = 0;
  let coveredMs = 0;
  for (let at = 1; at < power.length; at++) {
    const [before, after] = [power[at - 1], power[at]];
    if (before === undefined || after === undefined) continue;
    const lengthMs = after.timeMs - before.timeMs;
    const startMs = Math.max(fromMs, before.timeMs);
    const endMs = Math.min(toMs, after.timeMs);
    if (lengthMs <= 0 || lengthMs > gapMs || endMs <= startMs) continue;
    const value = (timeMs: number): number =>
      before.value + ((after.value - before.value) * (timeMs - before.timeMs)) / lengthMs;
    joules += (((value(startMs) + value(endMs)) / 2) * (endMs - startMs)) / 1_000;
    coveredMs += endMs - startMs;
  }
  return { joules, coveredMs };
}

/** The counter is updated about once a second: power extrapolates from its nearest reading to each end. */
function counted(
  counter: readonly Point[],
  power: readonly Point[],
  span: RunSpan,
): number | undefined {
  const [start, end] = span.map((timeMs) => counterAt(counter, power, timeMs));
  if (start === undefined || end === undefined) return undefined;
  // A counter that decreased was reset by a reload of the driver.
  return end >= start ? end - start : undefined;
}

const farMs = 10_000;

function counterAt(
  counter: readonly Point[],
  power: readonly Point[],
  timeMs: number,
): number | undefined {
  let nearest: Point | undefined;
  for (const point of counter)
    if (
      nearest === undefined ||
      Math.abs(point.timeMs - timeMs) < Math.abs(nearest.timeMs - timeMs)
    )
      nearest = point;
  if (nearest === undefined || Math.abs(nearest.timeMs - timeMs) > farMs) return undefined;
  const lengthMs = Math.abs(nearest.timeMs - timeMs);
  if (lengthMs === 0) return nearest.value;
  const between: RunSpan = [Math.min(nearest.timeMs, timeMs), Math.max(nearest.timeMs, timeMs)];
  const { joules, coveredMs } = integrate(power, between, farMs);
  if (coveredMs === 0) return undefined;
  const carried = joules * (lengthMs / coveredMs);
  return nearest.timeMs <= timeMs ? nearest.value + carried : nearest.value - carried;
}

function hasValues(trace: GpuTrace, column: string): boolean {
  return trace.columns.get(column)?.some((value) => !Number.isNaN(value)) ?? false;
}
