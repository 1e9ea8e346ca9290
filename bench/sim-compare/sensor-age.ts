/**
 * Determines when the temperature in a reading was sampled. The sensor is sampled every 100 ms by its own timer; the driver
 * copies the sample with the other registers every 100 ms, and a poll every 50 ms sees the copy. No column contains these times.
 * Like the heat path, the offset of the samples within 100 ms is fitted once for a whole trace, as the one at which all readings
 * agree best with the simulated die. If a sample coincides with a copy, the copy gets it or the previous one, and that changes as
 * the timers drift by a few parts per million: readings of `h200-slips` are 100 ms old for 145 s, then 0 ms, then 50 ms once the
 * copies drift past a poll. Work that switches within 100 ms changes the die by 10 °C, so 30 ms are 3 °C.
 */
import type { TraceRow } from "./trace.ts";

const samplingMs = 100;
/** The maximum time from a copy to the poll that sees it. */
const mostSeenMs = 50;
const stepMs = 5;
/**
 * The squared degrees that a change between the newest sample and the previous one must gain: three degrees at every reading of
 * two seconds. Single readings cannot cause a change.
 */
const changeCost = 9 * 20;

/** Samples every 100 ms, starting at `originMs`. */
export interface SensorSampling {
  readonly originMs: number;
  /** From when on a reading has the newest sample (0) or the previous one (1), in ascending order. */
  readonly changes: readonly SampleChange[];
}

interface SampleChange {
  readonly fromMs: number;
  readonly behind: number;
}

/** When the temperature of a reading at this time was sampled. */
export function sampledMs({ originMs, changes }: SensorSampling, timeMs: number): number {
  const behind = changes.findLast(({ fromMs }) => fromMs <= timeMs)?.behind ?? 0;
  return sampleBefore(originMs, timeMs, behind);
}

function sampleBefore(originMs: number, timeMs: number, behind: number): number {
  const newest = timeMs - modulo(timeMs - originMs, samplingMs);
  const older = newest - behind * samplingMs;
  return timeMs - older <= samplingMs + mostSeenMs ? older : newest;
}

const modulo = (value: number, by: number): number => ((value % by) + by) % by;

/** `celsiusAt` returns the simulated die temperature at an instant. */
export function findSampling(
  rows: readonly TraceRow[],
  celsiusAt: (timeMs: number) => number,
): SensorSampling {
  const startMs = rows[0]?.timeMs ?? 0;
  let best: SensorSampling = { originMs: startMs, changes: [] };
  let leastError = Number.POSITIVE_INFINITY;
  for (let ageMs = 0; ageMs < samplingMs; ageMs += stepMs) {
    const originMs = startMs - ageMs;
    const course = cheapestCourse(rows, celsiusAt, originMs);
    if (course.error < leastError)
      [best, leastError] = [{ originMs, changes: course.changes }, course.error];
  }
  return best;
}

interface Course {
  readonly error: number;
  readonly changes: readonly SampleChange[];
}

/**
 * Chooses between the newest sample and the previous one, with the least squared error over all readings plus the cost of each
 * change.
 */
function cheapestCourse(
  rows: readonly TraceRow[],
  celsiusAt: (timeMs: number) => number,
  originMs: number,
): Course {
  let courses: readonly Course[] = [0, 1].map((behind) => ({
    error: 0,
    changes: [{ fromMs: Number.NEGATIVE_INFINITY, behind }],
  }));
  for (const { timeMs, celsius } of rows) {
    const cheapest = leastOf(courses);
    courses = courses.map(({ error, changes }, behind) => {
      const off = (celsius - celsiusAt(sampleBefore(originMs, timeMs, behind))) ** 2;
      return cheapest.error + changeCost < error
        ? {
            error: cheapest.error + changeCost + off,
            changes: [...cheapest.changes, { fromMs: timeMs, behind }],
          }
        : { error: error + off, changes };
    });
  }
  return leastOf(courses);
}

const leastOf = (courses: readonly Course[]): Course =>
  courses.reduce((least, one) => (one.error < least.error ? one : least));
