/** Short rises of a temperature above its surroundings. Pure. */
import type { TimeGrid } from "../../query/columns.ts";

export interface Spike {
  readonly startMs: number;
  readonly endMs: number;
  readonly peakMs: number;
  readonly peak: number;
  /** The median around it. */
  readonly usual: number;
}

export interface SpikeRule {
  /** Smallest rise above the median. */
  readonly riseCelsius: number;
  /** Half the width of the surroundings. */
  readonly aroundMs: number;
  /** A longer rise is a new level, not a spike. */
  readonly longestMs: number;
}

const [RISE_CELSIUS, AROUND_MS, LONGEST_MS] = [8, 1_800_000, 900_000] as const;

/** The surroundings of a spike are half an hour before and after it, or less in a short range. */
export const ruleFor = (rangeMs: number): SpikeRule => {
  const aroundMs = Math.min(AROUND_MS, rangeMs / 6);
  return { riseCelsius: RISE_CELSIUS, aroundMs, longestMs: Math.min(LONGEST_MS, aroundMs / 2) };
};

export function spikesIn(
  values: Float64Array,
  { startMs, stepMs }: TimeGrid,
  rule: SpikeRule,
): readonly Spike[] {
  const reach = Math.max(2, Math.round(rule.aroundMs / stepMs));
  const found: Spike[] = [];
  let open: { first: number; last: number; peak: number; at: number; usual: number } | undefined;
  let usualBefore = false;
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
  const grow = (value: number, at: number, usual: number): void => {
    if (open === undefined && !usualBefore) return;
    open ??= { first: at, last: at, peak: value, at, usual };
    open.last = at;
    if (value > open.peak) open = { ...open, peak: value, at, usual };
  };
  values.forEach((value, at) => {
    const usual = medianAround(values, at, reach);
    // A rise without an observed start or end may be a new level.
    if (Number.isNaN(value) || usual === undefined) [open, usualBefore] = [undefined, false];
    else if (value - usual >= rule.riseCelsius) grow(value, at, usual);
    else {
      close();
      usualBefore = true;
    }
  });
  return found;
}

/** Undefined if either side is cut off or mostly without readings: with one side only, a new level looks like a spike. */
function medianAround(values: Float64Array, at: number, reach: number): number | undefined {
  if (at < reach || at + reach >= values.length) return undefined;
  const known = (from: number, to: number): Float64Array =>
    values.slice(from, to).filter((value) => !Number.isNaN(value));
  const [before, after] = [known(at - reach, at), known(at + 1, at + reach + 1)];
  if (Math.min(before.length, after.length) < reach / 2) return undefined;
  const around = known(at - reach, at + reach + 1).sort();
  return around[Math.floor(around.length / 2)];
}
