/** From a name in a scenario to a running workload. */
import { findKernelName, type KernelName } from "../kernels.ts";
import { InferenceWorkload } from "./inference.ts";
import { BatchWorkload, SteadyWorkload, idleWorkload } from "./steady.ts";
import { TrainingWorkload } from "./training.ts";
import { CountedWorkload } from "./work.ts";
import type { WorkContext, WorkloadOptions, Workload } from "./workload.ts";

/** Beside these every kernel's name is a workload: `matmul_fp32`, `memcopy`. */
export const workloadNames = ["idle", "training", "inference", "batch", "stress", "work"] as const;

/** Loads that count what they get done, in units that compare. */
export const countsWork = (name: string): boolean => name === "work" || name === "stress";

export function knowsWorkload(name: string): boolean {
  return workloadNames.some((known) => known === name) || findKernelName(name) !== undefined;
}

export function makeWorkload(name: string, order: WorkloadOptions, context: WorkContext): Workload {
  if (name === "idle") return idleWorkload;
  if (name === "training") return new TrainingWorkload(context, order);
  if (name === "inference") return new InferenceWorkload(context, order);
  if (name === "work") return new CountedWorkload(context, order);
  if (name === "batch") return new BatchWorkload(context, order);
  const kernel: KernelName | undefined = findKernelName(name);
  if (kernel === undefined)
    throw new Error(`BUG: workload ${name} passed the schema but has no kernel`);
  return kernel === "idle" ? idleWorkload : new SteadyWorkload(context, order, kernel, "stress");
}
