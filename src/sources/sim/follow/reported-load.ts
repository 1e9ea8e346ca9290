/**
 * Parses and checks the load of GPUs that a followed service reports. Unknown keys are ignored, so that a service may report more. An
 * invalid name, share or size rejects the whole response, since half of it would be a guess.
 *
 *     {"simulated":true,"gpus":[{"gpu":0,"workload":"inference","busy":0.43,"memoryBytes":6e10}]}
 */
import * as v from "valibot";
import { findKernelName, type KernelName } from "../kernels.ts";
import { knowsWorkload } from "../workloads/make.ts";
import type { WorkloadKind } from "../workloads/workload.ts";

/** The current load of one GPU. */
export interface ReportedLoad {
  readonly workload: string;
  readonly kernel: KernelName;
  /** Absent if no job runs. */
  readonly kind: WorkloadKind | undefined;
  /** Share of time in which kernels run. */
  readonly busy: number;
  readonly memoryBytes: number;
}

const mostMemoryBytes = 2 ** 50;
const number = (most: number, takes: string) =>
  v.pipe(v.number(takes), v.minValue(0, takes), v.maxValue(most, takes));
const indexTakes = "gpu: a whole number from 0";

const answer = v.object({
  gpus: v.array(
    v.object({
      gpu: v.pipe(number(100_000, indexTakes), v.integer(indexTakes)),
      workload: v.pipe(
        v.string("workload: the name of a workload"),
        v.check(knowsWorkload, (issue) => `workload: ${issue.received} is not known`),
      ),
      busy: number(1, "busy: a number from 0 to 1"),
      memoryBytes: number(mostMemoryBytes, "memoryBytes: a number of bytes"),
    }),
    "gpus: a list",
  ),
});

/** Returns the loads by GPU index, or a sentence with the problem of the response. */
export function parseReportedLoads(text: string): ReadonlyMap<number, ReportedLoad> | string {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    return "its answer is not JSON";
  }
  const parsed = v.safeParse(answer, given);
  if (!parsed.success) return `its response is invalid: ${parsed.issues[0].message}`;
  const said = new Map<number, ReportedLoad>();
  for (const { gpu, workload, busy, memoryBytes } of parsed.output.gpus) {
    if (said.has(gpu)) return `its answer names GPU ${gpu} twice`;
    const kernel = kernelOf(workload);
    said.set(gpu, { workload, kernel, kind: kindOf(workload, kernel), busy, memoryBytes });
  }
  return said;
}

/** The kernel that the workload of this name runs. */
function kernelOf(workload: string): KernelName {
  if (workload === "batch") return "infer_heavy";
  return findKernelName(workload) ?? "stress";
}

function kindOf(workload: string, kernel: KernelName): WorkloadKind | undefined {
  if (kernel === "idle") return undefined;
  return workload === "training" || workload === "inference" || workload === "batch"
    ? workload
    : "stress";
}
