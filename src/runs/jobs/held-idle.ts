/** Finds running jobs that have held GPUs without using them for long. Pure. */
import type { OpenJob } from "./open-job.ts";
import type { JobKind, JobRecord, JobStretch } from "./record.ts";

export interface HeldIdleSelection {
  /** A GPU counts once it has been held idle for this long. */
  readonly afterMs: number;
  readonly kinds?: readonly JobKind[] | undefined;
  readonly users?: readonly string[] | undefined;
  readonly accounts?: readonly string[] | undefined;
  /** Jobs with fewer such GPUs are omitted. */
  readonly minGpus: number;
}

export interface HeldIdleJob {
  readonly record: JobRecord;
  /** The idle ones out of `heldGpus`. */
  readonly gpus: readonly JobStretch[];
  readonly heldGpus: number;
  /** Since when all of `gpus` have been idle. */
  readonly sinceMs: number;
}

/** A GPU without a newer reading has no current state. */
const freshMs = 120_000;

export function findHeldIdle(
  jobs: Iterable<OpenJob>,
  { afterMs, kinds, users, accounts, minGpus }: HeldIdleSelection,
  nowMs: number,
): HeldIdleJob[] {
  const found: HeldIdleJob[] = [];
  const isChosen = (chosen: readonly string[] | undefined, value: string | undefined): boolean =>
    chosen === undefined || (value !== undefined && chosen.includes(value));
  for (const { record, stretches } of jobs) {
    const { kind, user, account } = record;
    if (!isChosen(kinds, kind) || !isChosen(users, user) || !isChosen(accounts, account)) continue;
    const held = [...stretches.values()].filter(
      ({ isOver, stretch }) => !isOver && nowMs - stretch.toMs <= freshMs,
    );
    const idle = held.filter(({ idleSinceMs }) => nowMs - (idleSinceMs ?? nowMs) >= afterMs);
    if (idle.length === 0 || idle.length < minGpus) continue;
    found.push({
      record,
      gpus: idle.map(({ stretch }) => stretch),
      heldGpus: held.length,
      sinceMs: Math.max(...idle.map(({ idleSinceMs = 0 }) => idleSinceMs)),
    });
  }
  return found;
}
