/** From a name in a scenario to a running workload. */
import type { KernelName } from "../kernels.ts";
import { kernelNamed } from "../kernels.ts";
import { Inference } from "./inference.ts";
import { Batch, Steady, idling } from "./steady.ts";
import { Training } from "./training.ts";
import { Work } from "./work.ts";
import type { WorkContext, WorkOrder, Workload } from "./workload.ts";

/** Beside these every kernel's name is a workload: `matmul_fp32`, `memcopy`. */
export const workloadNames = ["idle", "training", "inference", "batch", "stress", "work"] as const;

/** Loads that count what they get done, in units that compare. */
export const countsWork = (name: string): boolean => name === "work" || name === "stress";

export function knowsWorkload(name: string): boolean {
  return workloadNames.some((known) => known === name) || kernelNamed(name) !== undefined;
}

export function makeWorkload(name: string, order: WorkOrder, context: WorkContext): Workload {
  if (name === "idle") return idling;
  if (name === "training") return new Training(context, order);
  if (name === "inference") return new Inference(context, order);
  if (name === "work") return new Work(context, order);
  if (name === "batch") return new Batch(context, order);
  const kernel: KernelName | undefined = kernelNamed(name);
  if (kernel === undefined)
    throw new Error(`BUG: workload ${name} passed the schema but has no kernel`);
  return kernel === "idle" ? idling : new Steady(context, order, kernel, "stress");
}
