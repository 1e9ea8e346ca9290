/**
 * How old the temperature in a reading is: the sensor is sampled every 100 ms by a timer of its own. No column gives the age. Like
 * the heat path it is found once for a whole trace, as the one at which all readings agree best with the simulated die: 45 to 75 ms
 * on five cards. Work that switches within 100 ms moves the die by 10 °C, so 30 ms of age are 3 °C there.
 */
import type { TraceRow } from "./trace.ts";

const samplingMs = 100;
/** The youngest age seen: the sample is passed on, and the reading is seen by a poll every 50 ms. */
const youngestMs = 20;
const stepMs = 5;

/** `celsiusAt` is the simulated die at an instant. */
export function findSensorAgeMs(
  rows: readonly TraceRow[],
  celsiusAt: (timeMs: number) => number,
): number {
  let best = youngestMs;
  let leastError = Number.POSITIVE_INFINITY;
  for (let ageMs = youngestMs; ageMs < youngestMs + samplingMs; ageMs += stepMs) {
    let error = 0;
    for (const { timeMs, celsius } of rows) error += (celsius - celsiusAt(timeMs - ageMs)) ** 2;
    if (error < leastError) [best, leastError] = [ageMs, error];
  }
  return best;
}
