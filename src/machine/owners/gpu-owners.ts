/**
 * Groups the processes on a GPU by owner. Pure. A GPU shared by time slicing or MIG is split by process: each owner gets the
 * values of its own processes, never the whole device's.
 */
import { type Attribution, type Owner, type UnknownReason, valueOf } from "./attribution.ts";
import type { AllocatedDevice } from "./kubelet/pod-resources.ts";

export interface GpuProcess {
  readonly pid: number;
  readonly kind?: "compute" | "graphics" | "both";
  readonly memoryBytes?: number | undefined;
  readonly utilizationRatio?: number | undefined;
}

export interface GpuUse {
  readonly processes: readonly GpuProcess[];
  /** The containers that hold the device, from the kubelet's list. */
  readonly holders: Attribution<readonly AllocatedDevice[]>;
}

/** Labels of gpu_owner_info, gpu_owner_memory_bytes and gpu_owner_utilization_ratio besides the device's. */
export type OwnerLabels = Readonly<
  Partial<Record<"namespace" | "pod" | "container" | "workload" | "user", string>>
>;

export interface OwnerShare {
  readonly labels: OwnerLabels;
  readonly processes: number;
  /** Undefined if one of its processes reports none, since a partial sum would look complete. */
  readonly memoryBytes: number | undefined;
  readonly utilizationRatio: number | undefined;
}

export interface GpuOwners {
  /** Owners with the most memory first. */
  readonly owners: readonly OwnerShare[];
  /** Number of processes without an owner, by reason. */
  readonly unattributed: Readonly<Partial<Record<UnknownReason, number>>>;
  /** Number of owners beyond the limit. */
  readonly leftOut: number;
}

export function ownersOfGpu(
  use: GpuUse,
  owners: ReadonlyMap<number, Owner>,
  limit = 64,
): GpuOwners {
  const groups = new Map<string, { labels: OwnerLabels; processes: GpuProcess[] }>();
  const group = (labels: OwnerLabels) => {
    const key = JSON.stringify(labels);
    const found = groups.get(key) ?? { labels, processes: [] };
    groups.set(key, found);
    return found;
  };
  const unattributed: Partial<Record<UnknownReason, number>> = {};
  for (const process of use.processes) {
    const owner = owners.get(process.pid);
    const labels = owner === undefined ? {} : ownerLabels(owner, use.holders);
    if (Object.keys(labels).length > 0) group(labels).processes.push(process);
    else {
      const reason = owner === undefined || owner.user.known ? "gone" : owner.user.reason;
      unattributed[reason] = (unattributed[reason] ?? 0) + 1;
    }
  }
  // A pod that holds the device without running a process on it is an owner too.
  for (const { namespace, pod, container } of valueOf(use.holders) ?? [])
    group({ namespace, pod, container });
  const shares = [...groups.values()].map(({ labels, processes }) => shareOf(labels, processes));
  const sorted = shares.sort(bySize);
  return {
    owners: sorted.slice(0, limit),
    unattributed,
    leftOut: Math.max(0, sorted.length - limit),
  };
}

/** One limit for the ports of all servers on a GPU. */
const mostPorts = 16;

export const portsOfGpu = (byProcess: ReadonlyMap<number, readonly number[]>): readonly number[] =>
  [...new Set([...byProcess.values()].flat())].toSorted((a, b) => a - b).slice(0, mostPorts);

/** Labels in a fixed order, so that equal owners have equal keys. */
function ownerLabels(owner: Owner, holders: GpuUse["holders"]): OwnerLabels {
  const names = podNamesOf(owner, holders);
  const container = names?.container ?? valueOf(owner.containerId)?.slice(0, 12);
  const workload = valueOf(owner.workload);
  // The user of a process in a pod comes from its image, so the label is added only outside pods.
  const user = names === undefined ? valueOf(owner.user) : undefined;
  return {
    ...(names === undefined ? {} : { namespace: names.namespace, pod: names.pod }),
    ...(container === undefined ? {} : { container }),
    ...(workload === undefined ? {} : { workload }),
    ...(user === undefined ? {} : { user }),
  };
}

/**
 * Names from the process itself; otherwise those of the container that holds the device, if there is only one and the process is
 * in a pod.
 */
function podNamesOf(
  owner: Owner,
  holders: GpuUse["holders"],
): Pick<AllocatedDevice, "namespace" | "pod" | "container"> | undefined {
  if (owner.pod.known && owner.namespace.known && owner.containerName.known)
    return {
      namespace: owner.namespace.value,
      pod: owner.pod.value,
      container: owner.containerName.value,
    };
  const [only, ...others] = valueOf(holders) ?? [];
  return owner.podUid.known && only !== undefined && others.length === 0 ? only : undefined;
}

function shareOf(labels: OwnerLabels, processes: readonly GpuProcess[]): OwnerShare {
  const utilization = sum(processes.map(({ utilizationRatio }) => utilizationRatio));
  return {
    labels,
    processes: processes.length,
    memoryBytes: sum(processes.map(({ memoryBytes }) => memoryBytes)),
    // Some drivers round the shares of single processes up, so the sum may exceed 1.
    utilizationRatio: utilization === undefined ? undefined : Math.min(1, utilization),
  };
}

function sum(values: readonly (number | undefined)[]): number | undefined {
  let total = 0;
  for (const value of values) {
    if (value === undefined) return undefined;
    total += value;
  }
  return values.length === 0 ? undefined : total;
}

/** Labels of gpu_process_memory_bytes and gpu_process_utilization_ratio besides the device's. */
export type ProcessLabels = Readonly<
  Partial<
    Record<"pid" | "process" | "kind" | "container" | "pod" | "namespace" | "workload", string>
  >
>;

export interface ProcessShare {
  readonly labels: ProcessLabels;
  readonly memoryBytes: number | undefined;
  readonly utilizationRatio: number | undefined;
}

export interface TopProcesses {
  readonly processes: readonly ProcessShare[];
  readonly leftOut: number;
}

/** The processes with the most memory, for per-process series: off by default, and never more than the limit. */
export function topProcesses(
  use: GpuUse,
  owners: ReadonlyMap<number, Owner>,
  limit = 20,
): TopProcesses {
  const sorted = use.processes.toSorted((a, b) => bySize(a, b) || a.pid - b.pid);
  const processes = sorted.slice(0, limit).map(({ pid, kind, memoryBytes, utilizationRatio }) => {
    const owner = owners.get(pid);
    const { user: _, ...labels } = owner === undefined ? {} : ownerLabels(owner, use.holders);
    const name = owner === undefined ? undefined : valueOf(owner.process);
    return {
      labels: {
        pid: String(pid),
        ...(name === undefined ? {} : { process: name }),
        ...(kind === undefined ? {} : { kind }),
        ...labels,
      },
      memoryBytes,
      utilizationRatio,
    };
  });
  return { processes, leftOut: Math.max(0, sorted.length - limit) };
}

interface ProcessSize {
  readonly memoryBytes?: number | undefined;
  readonly utilizationRatio?: number | undefined;
}

const bySize = (a: ProcessSize, b: ProcessSize): number =>
  (b.memoryBytes ?? -1) - (a.memoryBytes ?? -1) ||
  (b.utilizationRatio ?? -1) - (a.utilizationRatio ?? -1);
