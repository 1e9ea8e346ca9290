/** The step between the points of a chart, and the refresh interval of a live one. Pure. */

/** Round steps; each divides a day. */
const STEPS_SECONDS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400,
] as const;
/** More than one point per two pixels is not visible. */
const PIXELS_PER_POINT = 2;
const MOST_POINTS = 2_000;

export function stepMsFor(rangeMs: number, widthPx: number, leastMs = 1_000): number {
  const points = Math.min(MOST_POINTS, Math.max(50, widthPx / PIXELS_PER_POINT));
  const wanted = Math.max(leastMs, rangeMs / points) / 1_000;
  const step = STEPS_SECONDS.find((seconds) => seconds >= wanted);
  // For ranges of years: whole days.
  return (step ?? Math.ceil(wanted / 86_400) * 86_400) * 1_000;
}

export const refreshes = ["auto", "off", "1s", "5s", "15s", "30s", "1m", "5m"] as const;
export type Refresh = (typeof refreshes)[number];

const refreshMs: Readonly<Record<Exclude<Refresh, "auto">, number | undefined>> = {
  off: undefined,
  "1s": 1_000,
  "5s": 5_000,
  "15s": 15_000,
  "30s": 30_000,
  "1m": 60_000,
  "5m": 300_000,
};

/** With `auto`: every second for minutes, every minute for days, as often as the chart would change visibly. */
export function refreshMsFor(refresh: Refresh, rangeMs: number): number | undefined {
  if (refresh !== "auto") return refreshMs[refresh];
  return Math.min(60_000, Math.max(1_000, stepMsFor(rangeMs, 1_400)));
}
