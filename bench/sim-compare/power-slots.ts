/**
 * Reconstructs the power of each 100 ms from a power register that reports the plain mean over the last second. Between two
 * refreshes the mean gains the newest tenth and loses the one from a second before, so a trace that begins at rest determines
 * every tenth in turn. Bounds and a few sweeps of least squares keep the rounding errors of the readings from accumulating. Uses
 * only the recording.
 */
import type { TraceRow } from "./trace.ts";

const slotsPerWindow = 10;
/** A poll every 50 ms sees the refreshes: one that comes this early belongs to an assumed one. */
const earliestMs = 75;
const latestMs = 95;
const sweeps = 60;
/** A heavy load draws up to a third over the card's limit before the governor reacts. */
const mostOverLimit = 1.35;

export interface PowerSlot {
  /** When the reading that closes the slot was first seen. */
  readonly endMs: number;
  readonly watts: number;
  /** At the end of the slot, if the trace has it. */
  readonly instantWatts: number | undefined;
}

export function powerSlots(rows: readonly TraceRow[], limitWatts: number): PowerSlot[] {
  const readings = powerRefreshes(rows);
  const means = readings.map(({ watts }) => watts);
  const least = means.reduce((low, watts) => Math.min(low, watts), Number.POSITIVE_INFINITY);
  const within = (watts: number): number =>
    Math.min(limitWatts * mostOverLimit, Math.max(least, watts));
  const slots: number[] = [];
  for (const [index, mean] of means.entries()) {
    const leaving = slots[index - slotsPerWindow];
    const gain = slotsPerWindow * (mean - (means[index - 1] ?? mean));
    slots.push(leaving === undefined ? mean : within(leaving + gain));
  }
  settle(slots, means, within);
  return readings.map(({ timeMs, instantWatts }, index) => ({
    endMs: timeMs,
    watts: slots[index] ?? least,
    instantWatts,
  }));
}

/** Coordinate descent on the squared distance between the means of the slots and the readings. */
function settle(
  slots: number[],
  means: readonly number[],
  within: (watts: number) => number,
): void {
  const rest = means.map((mean, index) => {
    let sum = 0;
    for (let back = 0; back < slotsPerWindow; back++) sum += slots[index - back] ?? mean;
    return index < slotsPerWindow - 1 ? 0 : mean - sum / slotsPerWindow;
  });
  for (let sweep = 0; sweep < sweeps; sweep++)
    for (const [index, watts] of slots.entries()) {
      const first = Math.max(slotsPerWindow - 1, index);
      const last = Math.min(slots.length, index + slotsPerWindow);
      if (first >= last) continue;
      let sum = 0;
      for (let at = first; at < last; at++) sum += rest[at] ?? 0;
      const better = within(watts + (slotsPerWindow * sum) / (last - first));
      const change = (better - watts) / slotsPerWindow;
      slots[index] = better;
      for (let at = first; at < last; at++) rest[at] = (rest[at] ?? 0) - change;
    }
}

/** The rows in which power, temperature and clock were refreshed: they change together, every 100 ms. */
function powerRefreshes(rows: readonly TraceRow[]): TraceRow[] {
  const found: TraceRow[] = [];
  let assumed = false;
  for (const row of rows) {
    const last = found.at(-1);
    const sinceMs = last === undefined ? Number.POSITIVE_INFINITY : row.timeMs - last.timeMs;
    const changed =
      last === undefined ||
      row.watts !== last.watts ||
      row.celsius !== last.celsius ||
      row.smHertz !== last.smHertz;
    if (changed && assumed && sinceMs < earliestMs) found.pop();
    else if (sinceMs < (changed ? earliestMs : latestMs)) continue;
    assumed = !changed;
    found.push(row);
  }
  return found;
}
