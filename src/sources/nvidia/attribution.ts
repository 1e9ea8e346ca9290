/** Owners of each GPU with their shares, as series beside the planned ones, and the processes themselves where configured. */
import { type Owner, valueOf } from "../../machine/owners/attribution.ts";
import type { OwnerResolver } from "../../machine/owners/resolver.ts";
import type { Device } from "../../model/device.ts";
import { labelKey, type LabelSet } from "../../model/labels.ts";
import type { ExtraSeries } from "./frames.ts";
import type { ProcessReading, XidReading } from "./protocol.ts";

/** Processes come and go; more series than this per GPU are not worth their cost. */
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

export async function ownerExtras(
  devices: readonly Device[],
  processes: readonly ProcessReading[],
  resolver: OwnerResolver,
  labels: Labels,
): Promise<ExtraSeries[]> {
  const owners = await ownersOf(processes, resolver);
  await resolver.refresh();
  const shares = new Map<string, { readonly of: LabelSet; readonly own: ProcessReading[] }>();
  const add = (
    at: number,
    who: Readonly<Record<string, string | undefined>>,
    process?: ProcessReading,
  ): void => {
    if (Object.values(who).every((value) => value === undefined)) return;
    const of = labels(at, who);
    const key = labelKey(of);
    const share = shares.get(key) ?? { of, own: [] };
    shares.set(key, share);
    if (process !== undefined) share.own.push(process);
  };
  devices.forEach((device, at) => {
    const held = resolver.podOfDevice(device);
    // A pod may hold a GPU and not use it yet: it owns it all the same.
    const holders = held.known ? held.value : [];
    for (const { namespace, pod, container } of holders) add(at, { namespace, pod, container });
    const holderOf = (owner: Owner) => {
      const name = valueOf(owner.containerName);
      const own = holders.filter(
        ({ namespace, pod }) =>
          namespace === valueOf(owner.namespace) && pod === valueOf(owner.pod),
      );
      return own.find(({ container }) => container === name) ?? own[0];
    };
    for (const process of processes.filter(({ device: on }) => on === at)) {
      const owner = owners.get(process.pid);
      if (owner === undefined) continue;
      const holder = holderOf(owner);
      if (holder === undefined) add(at, { ...placeOf(owner), user: valueOf(owner.user) }, process);
      else {
        const { namespace, pod, container } = holder;
        add(at, { namespace, pod, container }, process);
      }
    }
  });
  return [...shares.values()].flatMap(({ of, own }) => shareSeries(of, own));
}

/** Sums over an owner's processes; absent where one of them reports none: a partial sum would look complete. */
function shareSeries(of: LabelSet, own: readonly ProcessReading[]): ExtraSeries[] {
  const sum = (values: readonly (number | undefined)[]): number | undefined =>
    values.length === 0 || values.some((value) => value === undefined || Number.isNaN(value))
      ? undefined
      : values.reduce<number>((total, value) => total + (value ?? 0), 0);
  const memoryBytes = sum(own.map((process) => process.memoryBytes));
  const utilizationRatio = sum(own.map((process) => process.utilizationRatio));
  return [
    { metric: "ownerInfo", labels: of, value: 1 },
    ...(memoryBytes === undefined
      ? []
      : [{ metric: "ownerMemory", labels: of, value: memoryBytes } as const]),
    ...(utilizationRatio === undefined
      ? []
      : [
          {
            metric: "ownerUtilization",
            labels: of,
            value: Math.min(1, utilizationRatio),
          } as const,
        ]),
  ];
}

/** The largest by memory, each with what is known of its owner. */
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
