/** Positions of time labels on an axis that no plot draws. Pure, except for the local time zone. */

const STEPS_MINUTES = [
  1 / 12,
  1 / 6,
  1 / 4,
  1 / 2,
  1,
  2,
  5,
  10,
  15,
  30,
  60,
  120,
  180,
  360,
  720,
  1_440,
  2_880,
  10_080,
] as const;

export interface Ticks {
  readonly atMs: readonly number[];
  readonly everyMs: number;
}

/** Returns at most `most` ticks, at round local times. */
export function ticksOf(fromMs: number, toMs: number, most: number): Ticks {
  const least = (toMs - fromMs) / Math.max(1, most) / 60_000;
  const everyMs = (STEPS_MINUTES.find((step) => step >= least) ?? Math.ceil(least)) * 60_000;
  const zoneMs = new Date(fromMs).getTimezoneOffset() * 60_000;
  const atMs: number[] = [];
  for (
    let ms = Math.ceil((fromMs - zoneMs) / everyMs) * everyMs + zoneMs;
    ms <= toMs;
    ms += everyMs
  )
    atMs.push(ms);
  return { atMs, everyMs };
}
