/**
 * Resolves the owner of a process: container, pod, Slurm job, user. Each fact is a value or a reason. Results are cached for a
 * while and dropped if the pid belongs to another process; a lookup reads a few small files and never waits for a socket.
 */
import type { Log } from "../../base/log.ts";
import { within } from "../../base/retry.ts";
import {
  type Attribution,
  firstKnown,
  known,
  type Owner,
  unknown,
  type UnknownReason,
} from "./attribution.ts";
import { kubeletSocket as defaultSocket } from "./kubelet/client.ts";
import type { DeviceFacts } from "./kubelet/device-names.ts";
import { KubeletDevices } from "./kubelet/devices.ts";
import type { AllocatedDevice } from "./kubelet/pod-resources.ts";
import { type FileAccess, hostFileAccess } from "../sysfs/file-access.ts";
import { readBytes, readText } from "../sysfs/read.ts";
import { type CgroupOwner, ownerOfCgroups, parseCgroupFile } from "./cgroup.ts";
import { containerLogFolder, type PodName, PodNames } from "./kubelet/pod-names.ts";
import { ListeningPorts } from "./listening-ports.ts";
import { parseEnviron, parsePasswd, parseStat, parseUid } from "./proc.ts";

interface OwnerResolverOptions {
  readonly procfs: string;
  readonly nowMs: () => number;
  readonly log: Log;
  readonly kubeletSocket?: string | undefined;
  readonly containerLogs?: string;
  readonly passwd?: string;
  readonly fileAccess?: FileAccess;
  /** How long a cached owner is valid. */
  readonly expiryMs?: number;
}

export interface OwnerResolver {
  /** Never rejects. */
  resolve(pid: number): Promise<Owner>;
  /** TCP ports on which each process or one of its ancestors listens, cached for the same time. Never rejects. */
  portsOf(pids: readonly number[]): Promise<ReadonlyMap<number, readonly number[]>>;
  /**
   * Renews the kubelet's list if it is old; call it on a slow schedule. Resolves when the list has arrived or after a short wait,
   * whichever is first: a slow kubelet must not delay a reading. Never rejects.
   */
  refresh(): Promise<void>;
  /** Registers a listener for changes of the kubelet's list, which may also change between two refreshes. */
  onChange(listener: () => void): void;
  /** Containers that hold the device, from the kubelet's list: none, one, or several if it is shared. */
  podOfDevice(device: DeviceFacts): Attribution<readonly AllocatedDevice[]>;
}

/**
 * A kubelet lists a hundred pods in some milliseconds. On a busy node it takes longer; a later result is handled as a change.
 * Together with the patience for a scan of processes this stays below a card's deadline.
 */
const kubeletPatienceMs = 300;
/** Limit of cached owners, more than the processes that hold GPUs; the oldest are dropped first. */
const maxCachedOwners = 4_096;

interface CachedOwner {
  readonly owner: Owner;
  readonly startTicks: string;
  readonly untilMs: number;
}

export function createOwnerResolver(options: OwnerResolverOptions): OwnerResolver {
  const { procfs, nowMs, log, fileAccess = hostFileAccess, expiryMs = 60_000 } = options;
  const devices = new KubeletDevices({
    socket: options.kubeletSocket ?? defaultSocket,
    nowMs,
    log,
  });
  const podNames = new PodNames(options.containerLogs ?? containerLogFolder, nowMs, fileAccess);
  const listeningPorts = new ListeningPorts(procfs, fileAccess);
  const keptPorts = new Map<
    number,
    { readonly ports: readonly number[]; readonly untilMs: number }
  >();
  const kept = new Map<number, CachedOwner>();
  let users: { readonly names: ReadonlyMap<string, string>; readonly untilMs: number } | undefined;

  const userName = async (uid: string): Promise<string> => {
    if (users === undefined || users.untilMs < nowMs()) {
      const text = await readText(options.passwd ?? "/etc/passwd", 1_048_576, fileAccess);
      users = { names: text.ok ? parsePasswd(text.value) : new Map(), untilMs: nowMs() + 600_000 };
    }
    return users.names.get(uid) ?? uid;
  };

  const look = async (pid: number, process: string): Promise<Owner> => {
    const folder = `${procfs}/${pid}`;
    const [cgroups, environ, status] = await Promise.all([
      readText(`${folder}/cgroup`, 65_536, fileAccess),
      readBytes(`${folder}/environ`, 262_144, fileAccess),
      readText(`${folder}/status`, 8_192, fileAccess),
    ]);
    const cgroup: Attribution<CgroupOwner> = cgroups.ok
      ? known(ownerOfCgroups(parseCgroupFile(cgroups.value)))
      : unknown(reasonOf(cgroups.reason));
    const variables = environ.ok ? parseEnviron(environ.value) : undefined;
    const job =
      variables?.SLURM_JOB_ID ?? variables?.SLURM_JOBID ?? (variables && nameJob(variables));
    const uid = status.ok ? parseUid(status.value) : undefined;
    const containerId = factOf(cgroup, "container");
    const names: Attribution<PodName> = containerId.known
      ? await podNames.of(containerId.value)
      : unknown(containerId.reason);
    return {
      pid,
      process: known(process),
      user:
        variables?.SLURM_JOB_USER !== undefined
          ? known(variables.SLURM_JOB_USER)
          : uid !== undefined
            ? known(await userName(uid))
            : unknown(status.ok ? "failed" : reasonOf(status.reason)),
      runtime: factOf(cgroup, "runtime"),
      containerId,
      podUid: factOf(cgroup, "podUid"),
      containerName: nameOf(names, "container"),
      pod: nameOf(names, "pod"),
      namespace: nameOf(names, "namespace"),
      workload: firstKnown(
        factOf(cgroup, "slurmJob"),
        job !== undefined ? known(job) : unknown(environ.ok ? "none" : reasonOf(environ.reason)),
        prefixed("unit:", factOf(cgroup, "unit")),
        // A command names the workload only outside containers and if the environment was readable.
        environ.ok && !containerId.known
          ? known(`command:${process}`)
          : unknown(environ.ok ? "none" : reasonOf(environ.reason)),
      ),
    };
  };

  return {
    async resolve(pid) {
      const before = kept.get(pid);
      const stat = await readText(`${procfs}/${pid}/stat`, 4_096, fileAccess);
      const identity = stat.ok ? parseStat(stat.value) : undefined;
      if (identity === undefined) {
        kept.delete(pid);
        return ownerless(pid, stat.ok ? "failed" : reasonOf(stat.reason));
      }
      if (before?.startTicks === identity.startTicks && nowMs() < before.untilMs)
        return before.owner;
      const owner = await look(pid, identity.name);
      kept.delete(pid);
      kept.set(pid, { owner, startTicks: identity.startTicks, untilMs: nowMs() + expiryMs });
      const [oldest] = kept.keys();
      if (kept.size > maxCachedOwners && oldest !== undefined) kept.delete(oldest);
      return owner;
    },
    async portsOf(pids) {
      for (const [pid, { untilMs }] of keptPorts) if (untilMs <= nowMs()) keptPorts.delete(pid);
      const found = await listeningPorts.of(pids.filter((pid) => !keptPorts.has(pid)));
      const untilMs = nowMs() + expiryMs;
      for (const [pid, ports] of found) keptPorts.set(pid, { ports, untilMs });
      return new Map(pids.map((pid) => [pid, keptPorts.get(pid)?.ports ?? []]));
    },
    refresh: () => within(devices.refresh(), kubeletPatienceMs),
    onChange: (listener) => devices.onChange(listener),
    podOfDevice: (device) => devices.holders(device),
  };
}

/** A job name set by the user or by an experiment tracker; the prefix distinguishes it from a Slurm job. */
function nameJob(variables: ReturnType<typeof parseEnviron>): string | undefined {
  const { GPULSE_JOB: job, WANDB_RUN_ID: wandb, MLFLOW_RUN_ID: mlflow } = variables;
  if (job !== undefined) return `job:${job}`;
  if (wandb !== undefined) return `wandb:${wandb}`;
  return mlflow === undefined ? undefined : `mlflow:${mlflow}`;
}

/** A process's files disappear with it, so a missing file means that it is gone. */
function reasonOf(reason: string): UnknownReason {
  if (reason === "denied") return "denied";
  return reason === "unsupported" ? "gone" : "failed";
}

function factOf(cgroup: Attribution<CgroupOwner>, fact: keyof CgroupOwner): Attribution {
  if (!cgroup.known) return cgroup;
  const value = cgroup.value[fact];
  return value === undefined ? unknown("none") : known(value);
}

const prefixed = (prefix: string, fact: Attribution): Attribution =>
  fact.known ? known(prefix + fact.value) : fact;

function nameOf(names: Attribution<PodName>, part: keyof PodName): Attribution {
  return names.known ? known(names.value[part]) : names;
}

function ownerless(pid: number, reason: UnknownReason): Owner {
  const not = unknown(reason);
  return {
    pid,
    process: not,
    user: not,
    runtime: not,
    containerId: not,
    containerName: not,
    podUid: not,
    pod: not,
    namespace: not,
    workload: not,
  };
}
