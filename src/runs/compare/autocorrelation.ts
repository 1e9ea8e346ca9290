/**
 * Over how many readings one of them still tells about the next (integrated autocorrelation time): 1 where each is
 * news, more where they follow each other. Summed in pairs until a pair is no longer positive (Geyer 1992).
 */
export function autocorrelationTime(values: Float64Array): number {
  const known = values.filter((value) => !Number.isNaN(value));
  const count = known.length;
  const mean = known.reduce((sum, value) => sum + value, 0) / count;
  const centred = known.map((value) => value - mean);
  const covariance = (lag: number): number => {
    let sum = 0;
    for (let at = lag; at < count; at += 1) sum += (centred[at] ?? 0) * (centred[at - lag] ?? 0);
    return sum / count;
  };
  const variance = covariance(0);
  if (!(variance > 0)) return 1;
  let total = -1;
  for (let lag = 0; lag + 1 < count; lag += 2) {
    const pair = (covariance(lag) + covariance(lag + 1)) / variance;
    if (pair <= 0) break;
    total += 2 * pair;
  }
  return Math.max(1, total);
}
