/** The thresholds by which the ledger detects gaps, ends of jobs and usage of a GPU. */
import { dayMs } from "./record.ts";

export interface LedgerOptions {
  /** A second with activity above this is useful. */
  readonly floorRatio: number;
  /** Ticks further apart are a gap. */
  readonly gapMs: number;
  /** A job that is not observed for this long, on GPUs that report, has ended. */
  readonly closeAfterMs: number;
  /** How long an interval waits for the scheduler's report. */
  readonly maxHoldMs: number;
  /** An open job whose GPUs are silent for this long is closed as expired. */
  readonly expireAfterMs: number;
  readonly maxOpenJobs: number;
}

export const defaultLedgerOptions: LedgerOptions = {
  floorRatio: 0.05,
  gapMs: 60_000,
  closeAfterMs: 300_000,
  maxHoldMs: 900_000,
  expireAfterMs: dayMs,
  maxOpenJobs: 100_000,
};
