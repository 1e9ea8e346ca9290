/** Detects a container, its limits, and what it hides or restricts of the machine, in one sentence each. */
import { ownerOfCgroups, parseCgroupFile } from "./owners/cgroup.ts";
import { findPciDisplays } from "./sysfs/pci-devices.ts";
import { listDir, readText } from "./sysfs/read.ts";
import type { GpuFacts, SnapshotFacts } from "./snapshot.ts";
import { readCgroupLimits } from "./cgroup-limits.ts";
import { type Machine, type MissingFacts, optionalFact, processOf, rootOf } from "./machine.ts";
import { statusValue, parseCpuList } from "./proc.ts";

type Container = SnapshotFacts["container"];

export async function readContainer(machine: Machine, missing: MissingFacts): Promise<Container> {
  const [runtime, limits, status] = await Promise.all([
    readRuntime(machine),
    readCgroupLimits(machine, missing),
    readText(`${processOf(machine)}/status`, 8_192, machine.fileAccess),
  ]);
  const said = (name: string) => (status.ok ? statusValue(status.value, name) : undefined);
  return {
    inside: runtime !== undefined,
    ...optionalFact("runtime", runtime),
    ...optionalFact("cgroupVersion", limits.version),
    ...optionalFact("memoryLimitBytes", limits.memoryBytes),
    ...optionalFact("swapLimitBytes", limits.swapBytes),
    ...optionalFact("cpuLimitCores", limits.cpuCores),
    ...optionalFact("cpuSet", said("Cpus_allowed_list")),
    ...optionalFact("memoryNodes", said("Mems_allowed_list")),
    ...optionalFact("processLimit", limits.processes),
  };
}

/** Detects the runtime from its files, a Kubernetes mount, or the cgroup path. */
async function readRuntime(machine: Machine): Promise<string | undefined> {
  const { fileAccess } = machine;
  const root = rootOf(machine);
  const has = async (path: string): Promise<boolean> => (await readText(path, 16, fileAccess)).ok;
  const cgroups = await readText(`${processOf(machine)}/cgroup`, 65_536, fileAccess);
  const owner = cgroups.ok ? ownerOfCgroups(parseCgroupFile(cgroups.value)) : {};
  const pod = await listDir(`${root}/run/secrets/kubernetes.io`, fileAccess);
  if (owner.podUid !== undefined || pod.ok) return "kubernetes";
  if (owner.container !== undefined) return owner.runtime ?? "unknown";
  if (await has(`${root}/.dockerenv`)) return "docker";
  if (await has(`${root}/run/.containerenv`)) return "podman";
  const systemd = await readText(`${root}/run/systemd/container`, 64, fileAccess);
  if (systemd.ok && /^[\w-]{1,40}$/.test(systemd.value)) return systemd.value;
  const singularity = await listDir(`${root}/.singularity.d`, fileAccess);
  return singularity.ok ? "singularity" : undefined;
}

const narrowing = [
  "NVIDIA_VISIBLE_DEVICES",
  "CUDA_VISIBLE_DEVICES",
  "ROCR_VISIBLE_DEVICES",
  "HIP_VISIBLE_DEVICES",
  "GPU_DEVICE_ORDINAL",
  "ZE_AFFINITY_MASK",
] as const;
const vendorIds: Readonly<Record<string, number>> = { nvidia: 0x10de, amd: 0x1002 };

export async function readHidden(
  machine: Machine,
  facts: Omit<SnapshotFacts, "software">,
): Promise<string[]> {
  const { container, memory, processor } = facts;
  const hidden: string[] = [];
  const { memoryLimitBytes: limit } = container;
  if (limit !== undefined && (memory.totalBytes === undefined || limit < memory.totalBytes))
    hidden.push(
      `Memory is limited to ${gibibytes(limit)}${memory.totalBytes === undefined ? "" : ` of the machine's ${gibibytes(memory.totalBytes)}`}: the capacity is not what a workload can have.`,
    );
  const cores = container.cpuLimitCores;
  if (cores !== undefined && cores < (processor.threads ?? Number.POSITIVE_INFINITY))
    hidden.push(
      `Processor time is limited to ${Math.round(cores * 100) / 100} of ${processor.threads ?? "unknown"} threads.`,
    );
  const allowed = parseCpuList(container.cpuSet ?? "").length;
  if (allowed > 0 && processor.threads !== undefined && allowed < processor.threads)
    hidden.push(
      `Only ${allowed} of ${processor.threads} threads may be used (${container.cpuSet ?? ""}).`,
    );
  if (container.inside) {
    hidden.push(
      `Runs in a container (${container.runtime ?? "unknown"}): processes of other containers on a GPU may be seen without their names, or not at all.`,
    );
    if (facts.storage.length > 0)
      hidden.push(
        "The block devices are the machine's: it is not reported which of them hold this container's files.",
      );
  }
  for (const name of narrowing) {
    const value = machine.env[name];
    if (value !== undefined && !["", "all", "void"].includes(value))
      hidden.push(`${name}=${value.slice(0, 200)} narrows which GPUs programs see.`);
  }
  hidden.push(...(await unreadGpus(machine, facts.gpus)));
  return hidden;
}

/** The PCI bus lists every card, including those this container was not given. */
async function unreadGpus(machine: Machine, gpus: readonly GpuFacts[]): Promise<string[]> {
  const hidden: string[] = [];
  for (const [vendor, id] of Object.entries(vendorIds)) {
    const read = gpus.filter(
      (gpu) => gpu.vendor === vendor && gpu.parent === undefined && !gpu.simulated,
    ).length;
    if (read === 0) continue;
    const onBus = (await findPciDisplays(machine.sysfs, id, machine.fileAccess)).length;
    if (onBus > read)
      hidden.push(`${onBus} ${vendor} GPUs are on the bus and ${read} can be read here.`);
  }
  return hidden;
}

const gibibytes = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(1)} GiB`;
