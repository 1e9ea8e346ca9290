/**
 * Calculates how busy a card was on average, from the steps that the program counted. Utilisation readings in phase with a
 * burst's rhythm are up to a half off for a whole phase; the count is not. A step of unnamed work is assumed to equal that of a
 * named phase of the same trace with the same memory use and a known busy share; the duration of a step is inversely proportional
 * to the SM clock.
 */
import type { Phase, TraceRow } from "./trace.ts";

/** Memory shares of one kernel differ by less between two phases. */
const memoryTolerance = 0.05;
/** A count with other steps than the reference's differs from the utilisation by more than this. */
const mostCorrection = 1.4;

export interface ReferencePhase {
  readonly phase: Phase;
  /** Known: its work ran all the time, or in a rhythm that its name defines. */
  readonly busyShare: number;
}

/** The mean busy share of a phase; undefined if its count does not determine one. */
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
