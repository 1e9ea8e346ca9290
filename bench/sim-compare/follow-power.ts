/**
 * Brings an inferred activity in line with the course of the reported power, which is the plain mean over a second: Richardson-Lucy
 * steps, which move activity between seconds, keep pauses pauses and keep the mean of the phase. Of the power only its course
 * counts: the same course at other watts gives the same activity.
 */

const windowMs = 1_000;
/** More of them follow the noise of the readings. */
const steps = 2;
/** A second with less activity shows none. */
const leastMean = 0.03;

export interface PowerReading {
  /** The bin after the last one that the reading covers. */
  readonly endBin: number;
  /** Over rest. */
  readonly watts: number;
}

export function followPower(
  busy: readonly number[],
  binMs: number,
  readings: readonly PowerReading[],
): number[] {
  const windowBins = Math.round(windowMs / binMs);
  const whole = readings.filter(({ endBin }) => endBin >= windowBins && endBin <= busy.length);
  let shares = [...busy];
  for (let step = 0; step < steps; step++) {
    const means = windowMeans(shares, whole, windowBins);
    const meanSum = means.reduce((sum, mean) => sum + mean, 0);
    const full = whole.reduce((sum, { watts }) => sum + Math.max(0, watts), 0) / meanSum;
    if (!(full > 0 && full < Number.POSITIVE_INFINITY)) return shares;
    const ratios = shares.map(() => 0);
    const counts = shares.map(() => 0);
    for (const [index, { endBin, watts }] of whole.entries()) {
      const mean = means[index] ?? 0;
      if (mean < leastMean) continue;
      for (let bin = endBin - windowBins; bin < endBin; bin++) {
        ratios[bin] = (ratios[bin] ?? 0) + Math.max(0, watts) / full / mean;
        counts[bin] = (counts[bin] ?? 0) + 1;
      }
    }
    shares = shares.map((share, bin) => {
      const count = counts[bin] ?? 0;
      return count === 0 ? share : Math.min(1, (share * (ratios[bin] ?? 0)) / count);
    });
  }
  return shares;
}

/** What each reading would show of an activity. */
function windowMeans(
  shares: readonly number[],
  readings: readonly PowerReading[],
  windowBins: number,
): number[] {
  const sums = [0];
  for (const share of shares) sums.push((sums.at(-1) ?? 0) + share);
  return readings.map(
    ({ endBin }) => ((sums[endBin] ?? 0) - (sums[endBin - windowBins] ?? 0)) / windowBins,
  );
}
