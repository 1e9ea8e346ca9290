/** The interface between the ledger and batch schedulers: an implementation polls a controller and reports what changed. */
import type { SchedulerJob } from "../../model/scheduler-job.ts";

export interface SchedulerReport {
  readonly scheduler: SchedulerJob["scheduler"];
  readonly cluster?: string | undefined;
  /**
   * Every job that held a GPU before this time is in this report or an earlier one, as of this time. The ledger waits for it (up
   * to its `maxHoldMs`) before it assigns a GPU's usage until then.
   */
  readonly asOfMs: number;
  /** Only new or changed jobs; repeating an unchanged job costs time and has no effect. */
  readonly jobs: readonly SchedulerJob[];
}

export interface JobDirectory {
  /** `slurm:cluster`, for messages. */
  readonly name: string;
  /** Why nothing is reported now, such as an unreachable controller; undefined while it reports. */
  readonly problem: string | undefined;
  /**
   * Calls the listener with every report from now on; the returned function unsubscribes.
   *
   * @param earlier the reports that the ledger had before a restart: the end of these jobs still has to be reported
   */
  subscribe(
    listener: (report: SchedulerReport) => void,
    earlier: readonly SchedulerReport[],
  ): () => void;
  close(): void | Promise<void>;
}
