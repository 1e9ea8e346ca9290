/** Turns a column of states into spans of time. A span without readings is absent, which differs from off. Pure. */
import type { TimeGrid } from "../query/columns.ts";

export interface StateSpan {
  readonly fromMs: number;
  readonly toMs: number;
  /** NaN without a reading. */
  readonly value: number;
}

/** Each instant covers the step that ends there, as in `*_over_time(…[$step])`. */
export function findStateSpans(values: Float64Array, { startMs, stepMs }: TimeGrid): StateSpan[] {
  const found: StateSpan[] = [];
  let first = 0;
  for (let at = 1; at <= values.length; at += 1) {
    const [before, now] = [values[first] ?? Number.NaN, values[at] ?? Number.NaN];
    if (at < values.length && (Object.is(before, now) || before === now)) continue;
    found.push({
      fromMs: startMs + (first - 1) * stepMs,
      toMs: startMs + (at - 1) * stepMs,
      value: before,
    });
    first = at;
  }
  return found;
}

/** Share of the time with readings in which the state was on; undefined without readings. */
export function shareOn(stretches: readonly StateSpan[]): number | undefined {
  let [on, read] = [0, 0];
  for (const { fromMs, toMs, value } of stretches) {
    if (Number.isNaN(value)) continue;
    read += toMs - fromMs;
    if (value > 0) on += toMs - fromMs;
  }
  return read === 0 ? undefined : on / read;
}
