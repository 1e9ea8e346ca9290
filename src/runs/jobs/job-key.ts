/** Identifies the job of a GPU's owner from the labels of `gpu_owner_info`. */
import type { OwnerLabels } from "../../machine/owners/gpu-owners.ts";
import type { JobKind, JobRecord } from "./record.ts";

export type JobIdentity = Pick<
  JobRecord,
  "key" | "kind" | "name" | "user" | "namespace" | "container"
>;

/** Prefixes that the agent adds to a workload that is not a Slurm job. */
const prefixes: readonly [string, JobKind][] = [
  ["job:", "named"],
  ["wandb:", "wandb"],
  ["mlflow:", "mlflow"],
  ["unit:", "unit"],
  ["command:", "process"],
];
/** A Slurm job id, or a task of an array. */
const slurmId = /^\d+(_\d+)?$/;

/** A cache: the labels of a layout are the same object in every frame. */
const known = new WeakMap<OwnerLabels, { readonly host: string; readonly job: JobIdentity }>();

/** @param host the machine: a job whose name is only local is a separate job on each machine */
export function identifyJob(labels: OwnerLabels, host: string): JobIdentity {
  const found = known.get(labels);
  if (found?.host === host) return found.job;
  const job = identify(labels, host);
  known.set(labels, { host, job });
  return job;
}

function identify(labels: OwnerLabels, host: string): JobIdentity {
  const { workload, user, namespace, pod, container } = labels;
  const more = {
    ...(user === undefined ? {} : { user }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(container === undefined ? {} : { container }),
  };
  if (workload !== undefined) {
    if (slurmId.test(workload))
      return { key: `slurm:${workload}`, kind: "slurm", name: workload, ...more };
    for (const [prefix, kind] of prefixes) {
      if (!workload.startsWith(prefix)) continue;
      const name = workload.slice(prefix.length);
      // A pod or a container identifies a process better than its unit or its command.
      if ((kind === "unit" || kind === "process") && (pod ?? container) !== undefined) break;
      const isLocal = kind === "unit" || kind === "process";
      const key = `${kind}:${isLocal ? `${host}/${user ?? ""}/` : ""}${name}`;
      return { key, kind, name, ...more };
    }
  }
  if (pod !== undefined)
    return { key: `pod:${namespace ?? ""}/${pod}`, kind: "pod", name: pod, ...more };
  if (container !== undefined)
    return { key: `container:${host}/${container}`, kind: "container", name: container, ...more };
  if (workload !== undefined)
    return { key: `workload:${host}/${workload}`, kind: "workload", name: workload, ...more };
  return {
    key: `process:${host}/${user ?? ""}/`,
    kind: "process",
    name: user ?? "unknown",
    ...more,
  };
}
