/**
 * A time range that was watched, cut into stretches that stand for repeats (batch means). Readings follow each other, so a
 * stretch must be long against the time over which they do; where it is not, no verdict is given.
 */
import { autocorrelationTime } from "./autocorrelation.ts";
import { readings } from "./figures.ts";
import type { Metric } from "./metrics.ts";
import type { RunSeries, Subject } from "./series.ts";

export const WINDOWS = 8;
/** Stretches of eight times the integrated autocorrelation time have means that hardly know of each other. */
const TIMES_PER_WINDOW = 8;
const FEWEST_READINGS = 5;

/** What was done in a stretch of time. */
export type WorkIn = (fromMs: number, toMs: number) => RunSeries["work"];

export function windowsOf(whole: RunSeries, workIn: WorkIn, count = WINDOWS): readonly RunSeries[] {
  const stepMs = (whole.endMs - whole.startMs) / count;
  return Array.from({ length: count }, (_, at) => {
    const [startMs, endMs] = [whole.startMs + at * stepMs, whole.startMs + (at + 1) * stepMs];
    return {
      ...whole,
      name: `${at + 1} of ${count}`,
      startMs,
      endMs,
      work: workIn(startMs, endMs),
    };
  });
}

/** Why the metric gets no verdict from stretches of these ranges; undefined where it may get one. */
export function tooClose(
  metric: Metric,
  wholes: readonly RunSeries[],
  paired: boolean,
): string | undefined {
  const sampled = metric.sampled ?? { column: "power", across: "sum" as const };
  const curves = wholes.map((whole) => readings(whole, sampled, whole.startMs, whole.endMs));
  const known = curves.flatMap((one) => ("why" in one ? [] : [one.values]));
  if (known.length < wholes.length) return undefined;
  const fewest = Math.min(...known.map((one) => one.length));
  if (fewest < FEWEST_READINGS * WINDOWS)
    return `too few readings for a verdict: ${fewest} of ${FEWEST_READINGS * WINDOWS}`;
  const [first, ...others] = known;
  const alike = paired && known.every((one) => one.length === fewest);
  const judged =
    alike && first !== undefined && others.length > 0
      ? others.map((one) => one.map((value, at) => value - (first[at] ?? 0)))
      : known;
  const time = Math.max(...judged.map(autocorrelationTime));
  if (fewest / WINDOWS >= TIMES_PER_WINDOW * time) return undefined;
  return `readings follow each other too closely for a verdict: ${fewest} of them tell as much as ${Math.max(1, Math.floor(fewest / time))} independent ones; compare a longer range`;
}

export const subjectOf = (name: string, whole: RunSeries, workIn: WorkIn): Subject => ({
  name,
  runs: windowsOf(whole, workIn),
});
