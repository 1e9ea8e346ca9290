/** Maps Slurm's job states, a base state with flags, to a scheduler job state. */
import type { SchedulerJobState } from "../../model/scheduler-job.ts";

const states: Readonly<Record<string, SchedulerJobState>> = {
  PENDING: "waiting",
  RUNNING: "running",
  SUSPENDED: "suspended",
  COMPLETED: "completed",
  CANCELLED: "cancelled",
  FAILED: "failed",
  TIMEOUT: "timeout",
  DEADLINE: "timeout",
  NODE_FAIL: "node_failed",
  PREEMPTED: "preempted",
  BOOT_FAIL: "node_failed",
  OUT_OF_MEMORY: "out_of_memory",
  REQUEUED: "requeued",
  REVOKED: "cancelled",
};

/** Flags that may replace the base state in versions that print one word. */
const flags: Readonly<Record<string, SchedulerJobState>> = {
  // Its processes have ended and its end is known; only the node is still being cleaned up.
  COMPLETING: "ended",
  CONFIGURING: "running",
  RESIZING: "running",
  SIGNALING: "running",
  STAGE_OUT: "ended",
  STOPPED: "running",
  REQUEUE_HOLD: "waiting",
  REQUEUE_FED: "waiting",
  RESV_DEL_HOLD: "waiting",
  SPECIAL_EXIT: "waiting",
  POWER_UP_NODE: "running",
};

/** Undefined if no word is a Slurm state. */
export function stateOfWords(words: readonly string[]): SchedulerJobState | undefined {
  const names = words.map((word) => word.split(" ")[0] ?? "");
  // A job that waits again after a requeue is PENDING with the flag REQUEUED.
  if (names.includes("PENDING")) return "waiting";
  for (const table of [states, flags])
    for (const name of names) if (Object.hasOwn(table, name)) return table[name];
  return undefined;
}
