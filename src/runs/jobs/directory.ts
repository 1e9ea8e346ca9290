/** How the ledger learns what batch schedulers report: who implements it polls a controller and hands over what changed. */
import type { SchedulerJob } from "../../model/scheduler-job.ts";

export interface SchedulerReport {
  readonly scheduler: SchedulerJob["scheduler"];
  readonly cluster?: string | undefined;
  /**
   * Every job that held a GPU before this time is in this report or in an earlier one, as it was at this time. The ledger
   * waits for it (up to `maxHoldMs` of the ledger) before it assigns what a GPU did until then.
   */
  readonly asOfMs: number;
  /** New or changed jobs only; repeating an unchanged one costs time and changes nothing. */
  readonly jobs: readonly SchedulerJob[];
}

export interface JobDirectory {
  /** `slurm:cluster`, for messages. */
  readonly name: string;
  /** Why nothing is reported now, such as an unreachable controller; undefined while it reports. */
  readonly problem: string | undefined;
  /**
   * Calls the listener with every report from now on; the returned function ends it.
   *
   * @param earlier what the ledger took before a restart: the end of these jobs is still to be reported
   */
  subscribe(
    listener: (report: SchedulerReport) => void,
    earlier: readonly SchedulerReport[],
  ): () => void;
  close(): void | Promise<void>;
}
