/** Short rises of a temperature above what is usual around them. Pure. */
import type { Grid } from "../../query/columns.ts";

export interface Spike {
  readonly startMs: number;
  readonly endMs: number;
  readonly peakMs: number;
  readonly peak: number;
  /** The median around it. */
  readonly usual: number;
}

export interface SpikeRule {
  /** At least this much above the median. */
  readonly riseCelsius: number;
  /** Half the width of what counts as around it. */
  readonly aroundMs: number;
  /** What lasts longer is a new level, not a spike. */
  readonly longestMs: number;
}

export const firstRule: SpikeRule = {
  riseCelsius: 8,
  aroundMs: 1_800_000,
  longestMs: 900_000,
};

const FEWEST_AROUND = 5;

export function spikesIn(
  values: Float64Array,
  { startMs, stepMs }: Grid,
  rule: SpikeRule = firstRule,
): readonly Spike[] {
  const reach = Math.max(2, Math.round(rule.aroundMs / stepMs));
  const found: Spike[] = [];
  let open: { first: number; last: number; peak: number; at: number; usual: number } | undefined;
  const close = (): void => {
    if (open !== undefined && (open.last - open.first) * stepMs <= rule.longestMs)
      found.push({
        startMs: startMs + open.first * stepMs,
        endMs: startMs + open.last * stepMs,
        peakMs: startMs + open.at * stepMs,
        peak: open.peak,
        usual: open.usual,
      });
    open = undefined;
  };
  values.forEach((value, at) => {
    const usual = medianAround(values, at, reach);
    if (Number.isNaN(value) || usual === undefined || value - usual < rule.riseCelsius) {
      close();
      return;
    }
    if (open === undefined) open = { first: at, last: at, peak: value, at, usual };
    open.last = at;
    if (value > open.peak) open = { ...open, peak: value, at, usual };
  });
  close();
  return found;
}

function medianAround(values: Float64Array, at: number, reach: number): number | undefined {
  const around = values
    .slice(Math.max(0, at - reach), at + reach + 1)
    .filter((value) => !Number.isNaN(value))
    .sort();
  return around.length < FEWEST_AROUND ? undefined : around[Math.floor(around.length / 2)];
}
