/**
 * The ledger's state of a GPU between two ticks, including what every usual tick needs without a lookup: its books, and the job
 * that holds it.
 */
import type { OwnerLabels } from "../../machine/owners/gpu-owners.ts";
import type { GpuBooks } from "./day-books.ts";
import type { GpuLedgerState } from "./interval.ts";
import type { OpenJob, OpenStretch } from "./open-job.ts";

export interface TrackedGpu extends GpuLedgerState {
  readonly key: string;
  readonly books: GpuBooks;
  /** Open jobs with a stretch on it. */
  readonly jobs: Set<string>;
  /** No job on it ends before this time, so none is looked for. */
  jobsGoOnUntilMs: number;
  /** The only job that held it in the last usual tick: valid as long as the job is open. */
  held: HeldGpu | undefined;
}

interface HeldGpu {
  readonly labels: OwnerLabels;
  readonly job: OpenJob;
  readonly stretch: OpenStretch;
}

/** The job of this owner, if it has held the GPU since the previous tick and is open. */
export const heldBy = ({ held }: TrackedGpu, labels: OwnerLabels): HeldGpu | undefined =>
  held?.labels === labels && held.job.record.end === "open" ? held : undefined;
