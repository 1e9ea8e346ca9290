/** One simulated GPU: its card and state, what runs on it, and what is wrong with it. */
import type { Device } from "../../../model/device.ts";
import { governorMs, type SimCard, type Demand } from "../physics/card.ts";
import type { GpuModel } from "../physics/model.ts";
import type { SimGpuState, CardEnvironment } from "../physics/state.ts";
import type { Random } from "../random.ts";
import type { SimJob } from "../workloads/queue.ts";
import type { WorkContext, Workload } from "../workloads/workload.ts";
import type { LoadReader } from "../follow/follower.ts";
import type { FaultPlan } from "./faults.ts";

/** Work a scenario gives a GPU directly. */
export interface Assignment {
  readonly run: string;
  readonly level: number;
  /** Units of work a second that are asked for. */
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
  /** Where a service says what runs here; then neither an assignment nor a queue does. */
  readonly followedLoad: LoadReader | undefined;
  readonly around: CardEnvironment;
  readonly demand: Demand;
  state: SimGpuState;
  workload: Workload;
  /** The assignment that runs now, or -1. */
  assigned: number;
  job: SimJob | undefined;
  /** Slower than its clocks say: 1 is sound. */
  pace: number;
  /** What the program that runs took and does not give back. */
  leakedBytes: number;
  lost: boolean;
  pcieGeneration: number;
  pcieWidth: number;
  pcieReplays: number;
  eccCorrected: number;
  eccUncorrected: number;
  /** An XID that has just happened. */
  xid: number | undefined;
  readonly xids: Map<number, { count: number; lastMs: number }>;
}

/** The assignment in force at an instant, or -1. Later ones win. */
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

/** A card without a display, with nothing to do for a while, is put to sleep by its driver. */
export function isAsleep(gpu: SimGpu): boolean {
  return gpu.sleeps && gpu.state.quietSteps * governorMs > 10_000;
}
