/**
 * Which parts of the machine can be seen, and why the others cannot: a container may hide the driver, GPUs, the links between
 * them, NUMA nodes, cgroup limits, clocks or the persistence mode. Reads files only.
 */
import { findPciDisplays } from "./sysfs/pci-devices.ts";
import { listDir, readText } from "./sysfs/read.ts";
import { type Machine, type MissingFacts, processOf } from "./machine.ts";
import type { GpuFacts, SnapshotFacts, VisiblePart } from "./snapshot.ts";

type View = Pick<VisiblePart, "state" | "detail">;

const seen = (detail: string): View => ({ state: "seen", detail });
const partly = (detail: string): View => ({ state: "partly", detail });
const unseen = (detail: string): View => ({ state: "unseen", detail });
const absent = (detail: string): View => ({ state: "absent", detail });

export async function readVisibility(
  machine: Machine,
  facts: SnapshotFacts,
  missing: MissingFacts,
): Promise<VisiblePart[]> {
  const reasons = new Map(missing.list().map(({ fact, reason }) => [fact, reason]));
  const why = (path: string) => whyUnseen(machine, path);
  const whole = facts.gpus.filter(({ parent }) => parent === undefined);
  const views: readonly (readonly [part: string, view: View])[] = [
    ["driver", await driverView(machine, facts)],
    ["GPUs", await gpuView(machine, whole)],
    ["topology", topologyView(facts, whole, reasons)],
    ["NUMA nodes", await numaView(facts, whole, why)],
    ["cgroup limits", await limitsView(machine, facts, why)],
    ["clocks", clocksView(whole, reasons)],
    ["persistence mode", persistenceView(whole, reasons)],
  ];
  return views.map(([part, view]) => ({ part, ...view, detail: view.detail.slice(0, 1_000) }));
}

type Reasons = ReadonlyMap<string, string>;

async function driverView(machine: Machine, { gpus, software }: SnapshotFacts): Promise<View> {
  const versions = Object.entries(software.versions)
    .filter(([name]) => name.endsWith("_driver") && name !== "cuda_driver")
    .map(([name, version]) => `${name.replace("_driver", "")} ${version}`);
  const reported = gpus.flatMap(({ vendor, driver }) =>
    driver === undefined ? [] : [`${vendor} ${driver}`],
  );
  const all = [...new Set([...versions, ...reported])];
  if (all.length > 0) return seen(all.join(", "));
  const { procfs, sysfs, fileAccess } = machine;
  const loaded: string[] = [];
  for (const module of ["nvidia", "amdgpu", "xe", "i915"])
    if ((await listDir(`${sysfs}/module/${module}`, fileAccess)).ok) loaded.push(module);
  if (loaded.length > 0) return partly(`${loaded.join(", ")} loaded, version not reported`);
  return unseen(
    `no version: neither ${procfs}/driver/nvidia nor a GPU driver in ${sysfs}/module is here`,
  );
}

const vendorIds = { NVIDIA: 0x10de, AMD: 0x1002 } as const;

async function gpuView(machine: Machine, gpus: readonly GpuFacts[]): Promise<View> {
  const count = `${gpus.length} GPU${gpus.length === 1 ? "" : "s"}`;
  if (gpus.some(({ simulated }) => simulated)) return seen(`${count}, simulated`);
  const bus = await listDir(`${machine.sysfs}/bus/pci/devices`, machine.fileAccess);
  if (!bus.ok) {
    const why = await whyUnseen(machine, `${machine.sysfs}/bus/pci/devices`);
    return gpus.length > 0
      ? partly(`${count}; whether there are more is unknown: ${why}`)
      : unseen(`the PCI bus cannot be seen: ${why}`);
  }
  const hidden: string[] = [];
  for (const [vendor, id] of Object.entries(vendorIds)) {
    const onBus = (await findPciDisplays(machine.sysfs, id, machine.fileAccess)).length;
    const read = gpus.filter((gpu) => gpu.vendor.toUpperCase() === vendor).length;
    if (onBus > read) hidden.push(`${read} of ${onBus} ${vendor} GPUs on the bus can be read`);
  }
  if (hidden.length > 0)
    return gpus.length > 0 ? partly(hidden.join(", ")) : unseen(hidden.join(", "));
  return gpus.length > 0 ? seen(count) : absent("no NVIDIA or AMD GPU is on the bus");
}

function topologyView(
  { p2p, p2pLinks }: SnapshotFacts,
  gpus: readonly GpuFacts[],
  reasons: Reasons,
): View {
  if (gpus.length < 2) return absent("fewer than two GPUs");
  const known = gpus.filter(({ uuid }) => Object.keys(p2p[uuid] ?? {}).length > 0).length;
  const links = new Set(
    Object.values(p2pLinks ?? {}).flatMap((to) => Object.values(to).map(({ via }) => via)),
  );
  const named = links.size === 0 ? "" : ` (${[...links].toSorted().join(", ")})`;
  return shareView(known, gpus, `access between all GPUs${named}`, (uuid) =>
    reasonUnder(reasons, `p2p.${uuid}`),
  );
}

async function numaView(
  { memory }: SnapshotFacts,
  gpus: readonly GpuFacts[],
  why: (path: string) => Promise<string>,
): Promise<View> {
  const { numaNodes = [] } = memory;
  if (numaNodes.length === 0) return unseen(await why("/sys/devices/system/node"));
  const count = `${numaNodes.length} node${numaNodes.length === 1 ? "" : "s"}`;
  const real = gpus.filter(({ simulated }) => !simulated);
  const placed = real.filter(({ pcie }) => pcie.numaNode !== undefined).length;
  return numaNodes.length > 1 && placed < real.length
    ? partly(`${count}; of ${real.length - placed} GPUs the node is not reported`)
    : seen(count);
}

async function limitsView(
  { procfs }: Machine,
  { container }: SnapshotFacts,
  why: (path: string) => Promise<string>,
): Promise<View> {
  const { cgroupVersion, memoryLimitBytes, cpuLimitCores, processLimit } = container;
  if (cgroupVersion === undefined) {
    const own = await why(`${procfs}/self/cgroup`);
    const group = await why("/sys/fs/cgroup");
    return unseen(own.endsWith("can be read") ? group : own);
  }
  const limits = [
    ...(memoryLimitBytes === undefined
      ? []
      : [`memory ${(memoryLimitBytes / 2 ** 30).toFixed(1)} GiB`]),
    ...(cpuLimitCores === undefined ? [] : [`${Math.round(100 * cpuLimitCores) / 100} cores`]),
    ...(processLimit === undefined ? [] : [`${processLimit} processes`]),
  ];
  return seen(
    `version ${cgroupVersion}, ${limits.length === 0 ? "no limit set" : limits.join(", ")}`,
  );
}

function clocksView(gpus: readonly GpuFacts[], reasons: Reasons): View {
  if (gpus.length === 0) return absent("no GPU is read");
  const known = gpus.filter(({ clocks }) => Object.keys(clocks.maxHertz).length > 0).length;
  return shareView(known, gpus, "highest clocks of all GPUs", (uuid) =>
    reasonUnder(reasons, `gpus.${uuid}.clocks`),
  );
}

function persistenceView(gpus: readonly GpuFacts[], reasons: Reasons): View {
  const own = gpus.filter(({ vendor }) => vendor === "nvidia");
  if (own.length === 0) return absent("only NVIDIA GPUs have it");
  const states = own.flatMap(({ persistenceEnabled }) => persistenceEnabled ?? []);
  const words = [...new Set(states.map((on) => (on ? "on" : "off")))].join(" and ");
  return shareView(states.length, own, words, (uuid) =>
    reasonUnder(reasons, `gpus.${uuid}.persistenceEnabled`),
  );
}

function shareView(
  known: number,
  gpus: readonly GpuFacts[],
  all: string,
  reasonOf: (uuid: string) => string | undefined,
): View {
  if (known === gpus.length) return seen(all);
  const found = [...new Set(gpus.flatMap(({ uuid }) => reasonOf(uuid) ?? []))].join(", ");
  const why = found === "" ? "not reported" : found;
  return known === 0 ? unseen(why) : partly(`${known} of ${gpus.length} GPUs; the others: ${why}`);
}

const words: Readonly<Record<string, string>> = {
  unsupported: "not reported here",
  denied: "permission denied",
  asleep: "the GPU was asleep",
  failed: "the read failed",
  "not-read": "no reading had arrived",
};

/** The reason of the fact itself, or of the first fact below it. */
function reasonUnder(reasons: Reasons, fact: string): string | undefined {
  const key = [...reasons.keys()].find((one) => one === fact || one.startsWith(`${fact}.`));
  const reason = key === undefined ? undefined : reasons.get(key);
  return reason === undefined ? undefined : (words[reason] ?? reason);
}

const kernelFileSystems = new Set(["sysfs", "proc", "cgroup", "cgroup2", "securityfs"]);

/** Why a file or folder of the kernel is not visible: what is mounted over it, or the error of reading it. */
export async function whyUnseen(machine: Machine, path: string): Promise<string> {
  const { procfs, sysfs, fileAccess } = machine;
  const real = path.replace(/^\/sys(?=\/)/, sysfs);
  // For another machine's files, this machine's mount table does not apply.
  if (procfs === "/proc" && sysfs === "/sys") {
    const table = await readText(`${processOf(machine)}/mountinfo`, 2 ** 20, fileAccess);
    const cover = table.ok ? coverOf(parseMounts(table.value), real) : undefined;
    if (cover !== undefined) return cover;
  }
  const [list, text] = [await listDir(real, fileAccess), await readText(real, 64, fileAccess)];
  if (list.ok) return list.value.length === 0 ? `${real} is empty` : `${real} can be read`;
  if (text.ok) return `${real} can be read`;
  const { reason } = list.reason === "unsupported" ? text : list;
  return reason === "denied"
    ? `permission denied for ${real}`
    : reason === "unsupported"
      ? `${real} does not exist`
      : `${real} could not be read`;
}

export interface MountPoint {
  readonly point: string;
  readonly type: string;
}

/** `36 35 0:32 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw`: the fifth field is the mount point, the type follows the dash. */
export function parseMounts(text: string): readonly MountPoint[] {
  return text.split("\n").flatMap((line) => {
    const [before = "", after = ""] = line.split(" - ", 2);
    const point = before.split(" ")[4];
    const [type = ""] = after.split(" ", 1);
    return point === undefined || type === "" ? [] : [{ point: unescapeMount(point), type }];
  });
}

/** Decodes blanks and backslashes, which are written as octal numbers. */
const unescapeMount = (text: string): string =>
  text.replaceAll(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCodePoint(Number.parseInt(octal, 8)),
  );

/** The last mount at or above the path wins, as in the kernel; the kernel's own file systems do not hide anything. */
function coverOf(mounts: readonly MountPoint[], path: string): string | undefined {
  const above = mounts.filter(
    ({ point }) => point === "/" || path === point || path.startsWith(`${point}/`),
  );
  const nearest = above.reduce<MountPoint | undefined>(
    (best, one) => (best === undefined || one.point.length >= best.point.length ? one : best),
    undefined,
  );
  if (nearest === undefined || kernelFileSystems.has(nearest.type)) return undefined;
  const root = `/${path.split("/")[1] ?? ""}`;
  return nearest.point.startsWith(root)
    ? `a ${nearest.type} is mounted over ${nearest.point}`
    : `${root} is not mounted`;
}
