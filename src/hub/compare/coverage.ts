/** The part of a range that has samples: the time before the first and after the last sample is not compared. */
import type { Caveat } from "../../runs/compare/caveats.ts";
import { GAP_DISTANCES } from "../../runs/compare/distribution.ts";
import { formatLength } from "../../runs/compare/quantity.ts";
import type { RunSeries } from "../../runs/compare/series.ts";

export interface CoveredRange {
  readonly startMs: number;
  readonly endMs: number;
}

/** Returns one range per subject: its own, or, if paired, the range that all subjects have samples in. */
export function coveredRanges(
  wholes: readonly RunSeries[],
  paired: boolean,
): readonly CoveredRange[] {
  const own = wholes.map(coveredRange);
  if (!paired) return own;
  const startMs = Math.max(...own.map((one) => one.startMs));
  const endMs = Math.min(...own.map((one) => one.endMs));
  return startMs < endMs ? own.map(() => ({ startMs, endMs })) : own;
}

function coveredRange(whole: RunSeries): CoveredRange {
  const { startMs, endMs, samplingMs, gpus } = whole;
  let [first, last] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { timeMs } of gpus)
    for (const at of timeMs) {
      if (at < startMs || at > endMs) continue;
      first = Math.min(first, at);
      last = Math.max(last, at);
    }
  // Ignores gaps of a few sampling intervals at the ends of the range.
  const slackMs = GAP_DISTANCES * samplingMs;
  if (!(first < last)) return { startMs, endMs };
  return {
    startMs: first - startMs > slackMs ? first : startMs,
    endMs: endMs - last > slackMs ? last : endMs,
  };
}

export function* coverageCaveats(
  wholes: readonly RunSeries[],
  covered: readonly CoveredRange[],
  names: readonly string[],
): Generator<Caveat> {
  const sentences = new Set<string>();
  for (const [at, { startMs, endMs }] of covered.entries()) {
    const whole = wholes[at];
    if (whole === undefined || (startMs === whole.startMs && endMs === whole.endMs)) continue;
    const all = covered.every((one) => one.startMs === startMs && one.endMs === endMs);
    const who = all && covered.length > 1 ? "All" : (names[at] ?? whole.name);
    sentences.add(
      `${who}: compared over ${formatLength((endMs - startMs) / 1_000)} of the ${formatLength((whole.endMs - whole.startMs) / 1_000)} asked for, from ${utc(startMs)} to ${utc(endMs)} UTC: for the rest ${all && covered.length > 1 ? "at least one of them has" : "there are"} no readings.`,
    );
  }
  for (const sentence of sentences) yield { level: "note", code: "covered", sentence };
}

const utc = (ms: number): string => new Date(ms).toISOString().slice(0, 19).replace("T", " ");
