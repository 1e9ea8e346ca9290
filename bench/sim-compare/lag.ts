/**
 * The delay with which the utilisation register of a trace shows a load. NVML updates it every 200 ms with the mean of an earlier
 * window, and the delay varies between about 50 and 400 ms from phase to phase. The trace itself reveals it, because its power, a
 * plain mean over the last second, must follow its utilisation. Uses only the recording, never the simulator.
 */
import { type Phase, rowAt, type TraceRow } from "./trace.ts";

export const usualLagMs = 250;
const longestLagMs = 450;
const lagStepMs = 25;
const pointMs = 50;
/** A phase with nearly constant utilisation does not reveal its delay. */
const leastSpread = 0.15;

export function utilizationLagMs(
  phase: Phase,
  rows: readonly TraceRow[],
  windowMs: number,
): number {
  const within = rows.filter(
    ({ timeMs }) => timeMs >= phase.startMs + windowMs + 500 && timeMs < phase.endMs - longestLagMs,
  );
  if (within.length < 20 || spread(within.map(({ utilization }) => utilization)) < leastSpread)
    return usualLagMs;
  const watts = within.map((row) => row.watts);
  let best = usualLagMs;
  let bestFit = 0;
  for (let lagMs = 0; lagMs <= longestLagMs; lagMs += lagStepMs) {
    const loads = within.map(({ timeMs }) =>
      meanUtilization(rows, timeMs - windowMs + lagMs, timeMs + lagMs),
    );
    const fit = correlation(loads, watts);
    if (fit > bestFit) {
      bestFit = fit;
      best = lagMs;
    }
  }
  return best;
}

function meanUtilization(rows: readonly TraceRow[], fromMs: number, toMs: number): number {
  let sum = 0;
  let count = 0;
  for (let timeMs = fromMs + pointMs / 2; timeMs < toMs; timeMs += pointMs) {
    sum += rowAt(rows, timeMs).utilization;
    count += 1;
  }
  return sum / count;
}

function spread(values: readonly number[]): number {
  const middle = values.reduce((sum, value) => sum + value, 0) / values.length;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / values.length);
}

function correlation(left: readonly number[], right: readonly number[]): number {
  const meanLeft = left.reduce((sum, value) => sum + value, 0) / left.length;
  const meanRight = right.reduce((sum, value) => sum + value, 0) / right.length;
  let both = 0;
  let ofLeft = 0;
  let ofRight = 0;
  for (const [index, value] of left.entries()) {
    const awayLeft = value - meanLeft;
    const awayRight = (right[index] ?? meanRight) - meanRight;
    both += awayLeft * awayRight;
    ofLeft += awayLeft ** 2;
    ofRight += awayRight ** 2;
  }
  return ofLeft === 0 || ofRight === 0 ? 0 : both / Math.sqrt(ofLeft * ofRight);
}
