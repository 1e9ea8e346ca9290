/** Process readings of a GPU as channels: the number of processes, their owners, and one series per process if configured. */
import { within } from "../base/retry.ts";
import { gpu } from "../model/catalogue/index.ts";
import type { Owner } from "../machine/owners/attribution.ts";
import {
  type GpuProcess,
  ownersOfGpu,
  portsOfGpu,
  topProcesses,
} from "../machine/owners/gpu-owners.ts";
import type { DeviceFacts } from "../machine/owners/kubelet/device-names.ts";
import type { OwnerResolver } from "../machine/owners/resolver.ts";
import { denied, failed, present, type ReadResult } from "../machine/sysfs/read-result.ts";
import type { CardChannel } from "./cards.ts";

export interface GpuUsers {
  readonly device: DeviceFacts;
  readonly processes: readonly GpuProcess[];
  /** True if every process of the machine could be inspected. */
  readonly isWhole: boolean;
}

export async function userChannels(
  users: GpuUsers,
  resolver: OwnerResolver,
  withProcesses: boolean,
): Promise<readonly CardChannel[]> {
  const { device, processes, isWhole } = users;
  const resolved = await Promise.all(processes.map(({ pid }) => resolver.resolve(pid)));
  await resolver.refresh();
  const owners = new Map<number, Owner>(resolved.map((owner) => [owner.pid, owner]));
  const use = { processes, holders: resolver.podOfDevice(device) };
  const channels: CardChannel[] = [
    constant(gpu.processes, undefined, isWhole ? present(processes.length) : denied),
  ];
  for (const { labels, memoryBytes, utilizationRatio } of ownersOfGpu(use, owners).owners) {
    channels.push(
      constant(gpu.ownerInfo, labels, present(1)),
      constant(gpu.ownerMemory, labels, toReadResult(memoryBytes)),
      constant(gpu.ownerUtilization, labels, toReadResult(utilizationRatio)),
    );
  }
  for (const port of portsOfGpu(await resolver.portsOf(processes.map(({ pid }) => pid))))
    channels.push(constant(gpu.listenerInfo, { port: String(port) }, present(1)));
  if (!withProcesses) return channels;
  for (const { labels, memoryBytes, utilizationRatio } of topProcesses(use, owners).processes) {
    channels.push(
      constant(gpu.processInfo, labels, present(1)),
      constant(gpu.processMemory, labels, toReadResult(memoryBytes)),
      constant(gpu.processUtilization, labels, toReadResult(utilizationRatio)),
    );
  }
  return channels;
}

/** Channels for the containers that hold the device, from the kubelet's list. */
export async function holderChannels(
  device: DeviceFacts,
  resolver: OwnerResolver,
): Promise<readonly CardChannel[]> {
  await resolver.refresh();
  const use = { processes: [], holders: resolver.podOfDevice(device) };
  return ownersOfGpu(use, new Map()).owners.map(({ labels }) =>
    constant(gpu.ownerInfo, labels, present(1)),
  );
}

const toReadResult = (value: number | undefined): ReadResult<number> =>
  value === undefined ? failed : present(value);

function constant(
  metric: CardChannel["metric"],
  labels: CardChannel["labels"],
  reading: ReadResult<number>,
): CardChannel {
  return { metric, labels, read: () => reading };
}

/**
 * Returns the task's result if it finishes within the patience, otherwise its previous result. Scanning every process of a big
 * machine can take longer than a card's deadline; the scan goes on in the background, one at a time.
 */
export function latestOf<T>(
  task: (timeMs: number) => Promise<T>,
  patienceMs = 300,
): (timeMs: number) => Promise<T | undefined> {
  let last: T | undefined;
  let running: Promise<void> | undefined;
  return async (timeMs) => {
    running ??= task(timeMs)
      .then((result) => {
        last = result;
        return undefined;
      })
      .finally(() => {
        running = undefined;
      });
    await within(running, patienceMs);
    return last;
  };
}
