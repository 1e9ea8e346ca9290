/**
 * How busy a card was on average, from the steps that the program counted. Utilisation readings that are locked to a burst's
 * rhythm are up to a half off for a whole phase; the count is not. A step of unnamed work is taken to be that of a named phase
 * of the same trace that uses the memory alike and whose busy share is known; steps take time inversely to the SM clock.
 */
import type { Phase, TraceRow } from "./trace.ts";

/** Memory shares of one kernel differ by less between two phases. */
const memoryTolerance = 0.05;
/** A count of other steps than the reference's gives a share further from the utilisation's than this. */
const mostCorrection = 1.4;

export interface ReferencePhase {
  readonly phase: Phase;
  /** Known: its work ran all the time, or in a rhythm that its name gives. */
  readonly busyShare: number;
}

/** The mean busy share of a phase, or undefined where its count does not give one. */
export function busyShareByWork(
  phase: Phase,
  rows: readonly TraceRow[],
  utilizationShare: number,
  references: readonly ReferencePhase[],
): number | undefined {
  const own = summarise(phase, rows);
  if (own === undefined) return undefined;
  for (const { phase: other, busyShare } of references) {
    const reference = summarise(other, rows);
    if (reference === undefined) continue;
    if (Math.abs(reference.memoryShare - own.memoryShare) > memoryTolerance) continue;
    const share = (own.stepsPerCycle / reference.stepsPerCycle) * busyShare;
    const correction = share / utilizationShare;
    if (share <= 1 && correction < mostCorrection && correction > 1 / mostCorrection) return share;
  }
  return undefined;
}

function summarise(
  phase: Phase,
  rows: readonly TraceRow[],
): { readonly stepsPerCycle: number; readonly memoryShare: number } | undefined {
  if (phase.work === undefined) return undefined;
  let [busy, memory, cycles] = [0, 0, 0];
  for (const { timeMs, utilization, memoryUtilization, smHertz } of rows) {
    if (timeMs < phase.startMs || timeMs >= phase.endMs) continue;
    busy += utilization;
    memory += memoryUtilization;
    cycles += utilization * smHertz;
  }
  if (busy === 0) return undefined;
  const seconds = (phase.endMs - phase.startMs) / 1_000;
  return {
    stepsPerCycle: phase.work / (seconds * (cycles / busy)),
    memoryShare: memory / busy,
  };
}
