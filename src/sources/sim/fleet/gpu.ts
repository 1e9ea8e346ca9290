/** One simulated GPU: its card and state, its work, and its faults. */
import type { Device } from "../../../model/device.ts";
import { governorMs, type SimCard, type Demand } from "../physics/card.ts";
import type { GpuModel } from "../physics/model.ts";
import type { SimGpuState, CardEnvironment } from "../physics/state.ts";
import type { Random } from "../random.ts";
import type { SimJob } from "../workloads/queue.ts";
import type { WorkContext, Workload } from "../workloads/workload.ts";
import type { LoadReader } from "../follow/follower.ts";
import type { FaultPlan } from "./faults.ts";

/** Work that a scenario assigns to a GPU directly. */
export interface Assignment {
  readonly run: string;
  readonly level: number;
  /** Units of work requested per second. */
  readonly rate: number | undefined;
  readonly afterMs: number;
  readonly forMs: number | undefined;
  readonly everyMs: number | undefined;
}

export interface SimGpu {
  readonly device: Device;
  readonly model: GpuModel;
  readonly card: SimCard;
  readonly sleeps: boolean;
  readonly context: WorkContext;
  readonly faultRandom: Random;
  readonly faults: readonly FaultPlan[];
  readonly assignments: readonly Assignment[];
  /** The load reported by a service; if set, neither assignments nor a queue determine the work. */
  readonly followedLoad: LoadReader | undefined;
  readonly around: CardEnvironment;
  readonly demand: Demand;
  state: SimGpuState;
  workload: Workload;
  /** Index of the running assignment; -1 if none. */
  assigned: number;
  job: SimJob | undefined;
  /** Speed relative to what the clocks allow: 1 for a healthy card. */
  pace: number;
  /** Memory that the running program has leaked. */
  leakedBytes: number;
  lost: boolean;
  pcieGeneration: number;
  pcieWidth: number;
  pcieReplays: number;
  eccCorrected: number;
  eccUncorrected: number;
  /** An XID that occurred in this second. */
  xid: number | undefined;
  readonly xids: Map<number, { count: number; lastMs: number }>;
}

/** The index of the assignment that applies at an instant; -1 if none. Later ones win. */
export function assignmentAt(assignments: readonly Assignment[], elapsedMs: number): number {
  for (let at = assignments.length - 1; at >= 0; at--) {
    const plan = assignments[at];
    if (plan === undefined) continue;
    const { afterMs, forMs, everyMs } = plan;
    const into =
      everyMs === undefined || everyMs === 0
        ? elapsedMs - afterMs
        : (elapsedMs % everyMs) - afterMs;
    if (into >= 0 && (forMs === undefined || into < forMs)) return at;
  }
  return -1;
}

/** True if the driver has put the card to sleep: it has no display and has been idle for a while. */
export function isAsleep(gpu: SimGpu): boolean {
  return gpu.sleeps && gpu.state.quietSteps * governorMs > 10_000;
}
