/** Each thing said about an owner is a value, or the reason why it is not known. Never an empty string that looks like an answer. */

/**
 * - `none`: it is known that there is none (a process outside any container)
 * - `denied`: this user may not look
 * - `gone`: the process ended before it was looked at
 * - `unavailable`: its source is missing (no kubelet socket, no log folder)
 * - `failed`: it is here and did not answer in a usable way
 */
export const unknownReasons = ["none", "denied", "gone", "unavailable", "failed"] as const;
export type UnknownReason = (typeof unknownReasons)[number];

export type Attribution<T = string> =
  | { readonly known: true; readonly value: T }
  | { readonly known: false; readonly reason: UnknownReason };

export const known = <T>(value: T): Attribution<T> => ({ known: true, value });
export const unknown = (reason: UnknownReason): Attribution<never> => ({ known: false, reason });

/** The value where there is one. */
export const valueOf = <T>(attribution: Attribution<T>): T | undefined =>
  attribution.known ? attribution.value : undefined;

/** The first that is known; otherwise the first reason that says more than "none". */
export function firstKnown<T>(...tries: readonly Attribution<T>[]): Attribution<T> {
  return (
    tries.find((one) => one.known) ??
    tries.find((one) => !one.known && one.reason !== "none") ??
    unknown("none")
  );
}

/** Who a process works for. */
export interface Owner {
  readonly pid: number;
  readonly process: Attribution;
  readonly user: Attribution;
  /** What runs the container, such as docker or cri-o. */
  readonly runtime: Attribution;
  readonly containerId: Attribution;
  /** The name in the pod; outside Kubernetes the path has only the id. */
  readonly containerName: Attribution;
  readonly podUid: Attribution;
  readonly pod: Attribution;
  readonly namespace: Attribution;
  /**
   * Slurm job, or `job:`, `wandb:` or `mlflow:` and the name in the environment, or `unit:` and systemd's service, or `command:`
   * and the name of the program outside containers.
   */
  readonly workload: Attribution;
}
