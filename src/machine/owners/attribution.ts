/** Facts about an owner: each is a value, or the reason why it is unknown. An empty string is never a value. */

/**
 * - `none`: it is known that there is none (a process outside any container)
 * - `denied`: this user lacks the permission
 * - `gone`: the process ended before it was inspected
 * - `unavailable`: the source is missing (no kubelet socket, no log folder)
 * - `failed`: the source exists and returned nothing usable
 */
const unknownReasons = ["none", "denied", "gone", "unavailable", "failed"] as const;
export type UnknownReason = (typeof unknownReasons)[number];

export type Attribution<T = string> =
  | { readonly known: true; readonly value: T }
  | { readonly known: false; readonly reason: UnknownReason };

export const known = <T>(value: T): Attribution<T> => ({ known: true, value });
export const unknown = (reason: UnknownReason): Attribution<never> => ({ known: false, reason });

/** The value; undefined if it is unknown. */
export const valueOf = <T>(attribution: Attribution<T>): T | undefined =>
  attribution.known ? attribution.value : undefined;

/** The first known value; otherwise the first reason other than "none". */
export function firstKnown<T>(...tries: readonly Attribution<T>[]): Attribution<T> {
  return (
    tries.find((one) => one.known) ??
    tries.find((one) => !one.known && one.reason !== "none") ??
    unknown("none")
  );
}

/** The owner of a process. */
export interface Owner {
  readonly pid: number;
  readonly process: Attribution;
  readonly user: Attribution;
  /** The container runtime, such as docker or cri-o. */
  readonly runtime: Attribution;
  readonly containerId: Attribution;
  /** The container's name in the pod; outside Kubernetes the cgroup path contains only the id. */
  readonly containerName: Attribution;
  readonly podUid: Attribution;
  readonly pod: Attribution;
  readonly namespace: Attribution;
  /**
   * Slurm job, or `job:`, `wandb:` or `mlflow:` and the name from the environment, or `unit:` and systemd's service, or
   * `command:` and the program's name outside containers.
   */
  readonly workload: Attribution;
}
