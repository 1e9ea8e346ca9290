/**
 * Owners of each GPU as extra series besides the planned ones: who they are, how much memory they hold, and the processes
 * themselves if configured. An owner's share of GPU time is not exposed: with three processes at 57, 29 and 14 % of the work on
 * an H200, the driver's per-process samples attributed it all to one of them.
 */
import { type Owner, valueOf } from "../../machine/owners/attribution.ts";
import { type GpuProcess, ownersOfGpu, portsOfGpu } from "../../machine/owners/gpu-owners.ts";
import type { OwnerResolver } from "../../machine/owners/resolver.ts";
import type { Device } from "../../model/device.ts";
import type { LabelSet } from "../../model/labels.ts";
import type { ExtraSeries } from "./frames.ts";
import type { ProcessReading, XidReading } from "./protocol.ts";

/** Limit of process series per GPU, since processes come and go and each adds series. */
const mostProcesses = 20;
const shortIdLength = 12;

type Labels = (at: number, extra?: Readonly<Record<string, string | undefined>>) => LabelSet;

export function xidExtras(readings: readonly XidReading[], labels: Labels): ExtraSeries[] {
  return readings.flatMap(({ device, xid, count, lastMs }) => {
    const of = labels(device, { xid: String(xid) });
    return [
      { metric: "xidErrors", labels: of, value: count },
      { metric: "xidLast", labels: of, value: lastMs / 1_000 },
    ] satisfies ExtraSeries[];
  });
}

/** The owners of each GPU, with the memory their processes hold and the ports they listen on. */
export async function ownerExtras(
  devices: readonly Device[],
  processes: readonly ProcessReading[],
  resolver: OwnerResolver,
  labels: Labels,
): Promise<ExtraSeries[]> {
  const owners = await ownersOf(processes, resolver);
  const ports = await resolver.portsOf([...owners.keys()]);
  await resolver.refresh();
  return devices.flatMap((device, at) => {
    const own = processes.filter((process) => process.device === at).map(toGpuProcess);
    const use = { processes: own, holders: resolver.podOfDevice(device) };
    const listeners = portsOfGpu(new Map(own.map(({ pid }) => [pid, ports.get(pid) ?? []]))).map(
      (port): ExtraSeries => ({
        metric: "listenerInfo",
        labels: labels(at, { port: String(port) }),
        value: 1,
      }),
    );
    const held = ownersOfGpu(use, owners).owners.flatMap((owner): ExtraSeries[] => {
      const of = labels(at, owner.labels);
      const info: ExtraSeries = { metric: "ownerInfo", labels: of, value: 1 };
      // A pod that holds the GPU without running a process on it.
      if (owner.processes === 0) return [info];
      return [info, { metric: "ownerMemory", labels: of, value: owner.memoryBytes }];
    });
    return [...held, ...listeners];
  });
}

const toGpuProcess = ({ pid, memoryBytes, utilizationRatio }: ProcessReading): GpuProcess => ({
  pid,
  memoryBytes: Number.isNaN(memoryBytes) ? undefined : memoryBytes,
  utilizationRatio,
});

/** The largest processes by memory, each with the labels of its owner. */
export async function processExtras(
  processes: readonly ProcessReading[],
  resolver: OwnerResolver,
  labels: Labels,
): Promise<ExtraSeries[]> {
  const devices = [...new Set(processes.map(({ device }) => device))];
  const shown = devices.flatMap((at) =>
    processes
      .filter(({ device }) => device === at)
      .toSorted((a, b) => (b.memoryBytes || 0) - (a.memoryBytes || 0) || a.pid - b.pid)
      .slice(0, mostProcesses),
  );
  const owners = await ownersOf(shown, resolver);
  return shown.flatMap(({ device, pid, name, kind, memoryBytes, utilizationRatio }) => {
    const owner = owners.get(pid);
    const of = labels(device, {
      pid: String(pid),
      process: (owner === undefined ? undefined : valueOf(owner.process)) ?? name,
      kind,
      ...(owner === undefined ? {} : placeOf(owner)),
    });
    return [
      { metric: "processInfo", labels: of, value: 1 },
      {
        metric: "processMemory",
        labels: of,
        value: Number.isNaN(memoryBytes) ? undefined : memoryBytes,
      },
      { metric: "processUtilization", labels: of, value: utilizationRatio },
    ] satisfies ExtraSeries[];
  });
}

async function ownersOf(
  processes: readonly ProcessReading[],
  resolver: OwnerResolver,
): Promise<Map<number, Owner>> {
  const pids = [...new Set(processes.map(({ pid }) => pid))];
  const owners = await Promise.all(pids.map(async (pid) => resolver.resolve(pid)));
  return new Map(owners.map((owner) => [owner.pid, owner]));
}

function placeOf(
  owner: Owner,
): Record<"namespace" | "pod" | "container" | "workload", string | undefined> {
  return {
    namespace: valueOf(owner.namespace),
    pod: valueOf(owner.pod),
    container: valueOf(owner.containerName) ?? valueOf(owner.containerId)?.slice(0, shortIdLength),
    workload: valueOf(owner.workload),
  };
}
