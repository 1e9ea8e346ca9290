// Integrates power over a span without the recorder's code, to compare its energy with.

/** Computed from the raw readings without the recorder's own code: each reading holds until the next. */
export function joulesByHand(
  timeMs: Float64Array,
  watts: Float64Array,
  [fromMs, toMs]: readonly [number, number],
): number {
  const known = [...timeMs.keys()].filter((row) => !Number.isNaN(watts[row]));
  const at = (wantedMs: number): number => {
    const after = known.findIndex((row) => (timeMs[row] ?? 0) >= wantedMs);
    const [one = 0, other = 0] = [known[after - 1], known[after]];
    const [left = 0, right = 0] = [timeMs[one], timeMs[other]];
    const share = (wantedMs - left) / (right - left);
    return (watts[one] ?? 0) * (1 - share) + (watts[other] ?? 0) * share;
  };
  let joules = 0;
  for (let step = fromMs; step < toMs; step++) joules += at(step + 0.5) / 1_000;
  return joules;
}
