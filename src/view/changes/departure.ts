/** Whether and where a column of cells departs from its own history. Robust: single outliers have little weight. */
import { meanOfCells, medianOf, quantileOf, sigmaOf } from "../explain/statistics.ts";

/** Smallest departure to report, in standard deviations of the history. */
export const leastSigmas = 4;
/** Limit on the contribution of one cell, in thresholds, and the amount that each cell has to exceed to extend a stretch. */
const mostPull = 2;
const toll = 0.5;
/**
 * A stretch with a lower score is noise, and so is one that is less than `timesHistory` times as strong as the strongest of the
 * history.
 */
const leastScore = 1.5;
const timesHistory = 1.5;
/** Fewer cells do not show what is usual. */
export const leastHistoryCells = 5;
/** Standard deviations between the 5 % and the 95 % quantile. Covers a load that goes up and down. */
const sigmasAcross = 3.29;

export interface DepartureLevel {
  readonly middle: number;
  /** At least the floor passed in. */
  readonly sigma: number;
}

/** Returns the usual level of the cells [0, count), or undefined if there are too few readings. */
export function levelOf(
  cells: Float64Array,
  count: number,
  floorOf: (middle: number) => number,
): DepartureLevel | undefined {
  const history = cells.subarray(0, count);
  let known = 0;
  for (const value of history) if (!Number.isNaN(value)) known += 1;
  if (known < leastHistoryCells) return undefined;
  const middle = medianOf(history);
  const across = (quantileOf(history, 0.95) - quantileOf(history, 0.05)) / sigmasAcross;
  return { middle, sigma: Math.max(floorOf(middle), sigmaOf(history, middle), across) };
}

export interface Stretch {
  readonly firstCell: number;
  /** Exclusive. */
  readonly endCell: number;
  readonly score: number;
}

/**
 * Returns the consecutive cells of [from, to) that depart most in one direction: the largest sum of clipped departures, each minus
 * a toll (a CUSUM with clipped outliers, like `changePoint` of an explanation, but with an end).
 */
function strongestStretch(
  cells: Float64Array,
  { middle, sigma }: DepartureLevel,
  from: number,
  to: number,
): Stretch | undefined {
  let best: Stretch | undefined;
  for (const sign of [1, -1]) {
    let [sum, start] = [0, from];
    for (let cell = from; cell < to; cell++) {
      const value = cells[cell] ?? Number.NaN;
      if (Number.isNaN(value)) continue;
      if (sum <= 0) [sum, start] = [0, cell];
      const departure = (sign * (value - middle)) / (leastSigmas * sigma);
      sum += Math.max(-mostPull, Math.min(mostPull, departure)) - toll;
      if (sum > (best?.score ?? 0)) best = { firstCell: start, endCell: cell + 1, score: sum };
    }
  }
  return best;
}

export interface Departure extends Stretch {
  readonly before: number;
  readonly after: number;
  readonly sigma: number;
  readonly sigmas: number;
}

/** Returns undefined if the range does not differ from its history. */
export function findDeparture(
  cells: Float64Array,
  rangeCell: number,
  level: DepartureLevel,
): Departure | undefined {
  const stretch = strongestStretch(cells, level, rangeCell, cells.length);
  if (stretch === undefined || stretch.score < leastScore) return undefined;
  const usual = strongestStretch(cells, level, 0, rangeCell);
  if (stretch.score < timesHistory * (usual?.score ?? 0)) return undefined;
  const after = meanOfCells(cells, stretch.firstCell, stretch.endCell);
  const sigmas = Math.abs(after - level.middle) / level.sigma;
  if (sigmas < leastSigmas) return undefined;
  return { ...stretch, before: level.middle, after, sigma: level.sigma, sigmas };
}
