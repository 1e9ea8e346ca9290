/** Formats facts for display: the name of a path, and a value with its unit. Pure. */
import type { Snapshot } from "../../machine/snapshot.ts";

/** Display names by the end of the path. */
const names: readonly (readonly [end: RegExp, name: string])[] = [
  [/\.memoryTotalBytes$/, "memory capacity"],
  [/\.visibleMemoryTotalBytes$/, "memory the processor can reach (BAR)"],
  [/\.powerLimitWatts$/, "power limit"],
  [/\.powerLimitDefaultWatts$/, "default power limit"],
  [/\.powerLimitMinWatts$/, "lowest power limit"],
  [/\.powerLimitMaxWatts$/, "highest power limit"],
  [/\.clocks\.maxHertz\.(\w+)$/, "highest $1 clock"],
  [/\.clocks\.applicationHertz\.(\w+)$/, "$1 clock requested"],
  [/\.clocks\.performanceLevel$/, "performance level"],
  [/\.clocks\.requestedMinHertz$/, "lowest clock requested"],
  [/\.clocks\.requestedMaxHertz$/, "highest clock requested"],
  [/\.pcie\.generationMax$/, "PCIe generation"],
  [/\.pcie\.widthMax$/, "PCIe width"],
  [/\.pcie\.type$/, "link type"],
  [/\.pcie\.numaNode$/, "NUMA node"],
  [/\.pciBusId$/, "PCI address"],
  [/\.eccEnabled$/, "ECC"],
  [/\.persistenceEnabled$/, "persistence mode"],
  [/\.migEnabled$/, "MIG mode"],
  [/\.computeMode$/, "compute mode"],
  [/\.vbios$/, "VBIOS"],
  [/\.firmware\.(\w+)$/, "firmware $1"],
  [/^board\.biosVersion$/, "BIOS"],
  [/^board\.(\w+)$/, "machine $1"],
  [/^processor\.frequency\.governor$/, "processor frequency governor"],
  [/^processor\.frequency\.driver$/, "processor frequency driver"],
  [/^processor\.frequency\.energyPreference$/, "processor energy preference"],
  [/^processor\.frequency\.boost$/, "processor boost"],
  [/^processor\.frequency\.minHertz$/, "lowest processor frequency"],
  [/^processor\.frequency\.maxHertz$/, "highest processor frequency"],
  [/^processor\.(\w+)$/, "processor $1"],
  [/^memory\.totalBytes$/, "memory"],
  [/^memory\.swapTotalBytes$/, "swap"],
  [/^memory\.hugePages\.count$/, "huge pages"],
  [/^memory\.hugePages\.sizeBytes$/, "huge page size"],
  [/^memory\.transparentHugePages$/, "transparent huge pages"],
  [/^memory\.numaNodes$/, "NUMA nodes"],
  [/^storage\.(.+)\.(\w+)$/, "disk $1 $2"],
  [/^network\.(.+)\.(\w+)$/, "network card $1 $2"],
  [/^os\.name$/, "operating system"],
  [/^os\.kernel$/, "kernel"],
  [/^kernel\.commandLine$/, "kernel command line"],
  [/^kernel\.sysctl\.(.+)$/, "sysctl $1"],
  [/^kernel\.modules\.(\w+)\.(.+)$/, "parameter $2 of the kernel module $1"],
  [/^kernel\.smt$/, "SMT"],
  [/^kernel\.clocksource$/, "clock source"],
  [/^kernel\.transparentHugePagesDefrag$/, "transparent huge page defragmentation"],
  [/^container\.inside$/, "runs in a container"],
  [/^container\.runtime$/, "container runtime"],
  [/^container\.memoryLimitBytes$/, "container memory limit"],
  [/^container\.swapLimitBytes$/, "container swap limit"],
  [/^container\.cpuLimitCores$/, "container processor limit"],
  [/^container\.cpuSet$/, "processors allowed"],
  [/^container\.memoryNodes$/, "memory nodes allowed"],
  [/^container\.processLimit$/, "container process limit"],
  [/^software\.versions\.nvidia_driver$/, "NVIDIA driver"],
  [/^software\.versions\.cuda_driver$/, "CUDA version of the driver"],
  [/^software\.versions\.cuda_toolkit$/, "CUDA toolkit"],
  [/^software\.versions\.rocm$/, "ROCm"],
  [/^software\.versions\.(\w+)$/, "version of $1"],
];

const linkNames: Readonly<Record<string, string>> = {
  via: "link",
  bandwidthBytesPerSecond: "P2P bandwidth",
  basis: "basis of the P2P bandwidth",
};

/** `GPU 0 power limit`; a path without a name is shown itself. */
export function factName(path: string, ...snapshots: readonly Snapshot[]): string {
  const gpus = snapshots.flatMap(({ readings }) => readings.gpus);
  const labelOf = (uuid: string): string => {
    const index = gpus.find((gpu) => gpu.uuid === uuid)?.index;
    return index === undefined ? uuid : `GPU ${index}`;
  };
  const [group, ...rest] = path.split(".");
  if (group === "gpus" || group === "p2p" || group === "p2pLinks") {
    const uuid = gpus.map((gpu) => gpu.uuid).find((one) => path.startsWith(`${group}.${one}.`));
    const inside = uuid === undefined ? rest.join(".") : path.slice(group.length + uuid.length + 2);
    const label = uuid === undefined ? "" : `${labelOf(uuid)}: `;
    if (group === "p2p") return `${label}access to ${labelOf(inside)}`;
    if (group === "p2pLinks") {
      const end = inside.lastIndexOf(".");
      const what = linkNames[inside.slice(end + 1)] ?? inside.slice(end + 1);
      return `${label}${what} to ${labelOf(inside.slice(0, end))}`;
    }
    return `${label}${nameOf(`gpus.${inside}`) ?? inside}`;
  }
  const name = nameOf(path) ?? path;
  return name.slice(0, 1).toUpperCase() + name.slice(1);
}

function nameOf(path: string): string | undefined {
  for (const [end, name] of names) {
    const match = end.exec(path);
    if (match !== null) return name.replace(/\$(\d)/g, (_, at: string) => match[Number(at)] ?? "");
  }
  return undefined;
}

export function formatFact(path: string, value: string | number | boolean | undefined): string {
  if (value === undefined) return /[Ll]imit/.test(path) ? "none" : "not reported";
  if (typeof value === "boolean") {
    const [yes, no] = /^p2p\.|inside$|simulated$/.test(path) ? ["yes", "no"] : ["on", "off"];
    return value ? yes : no;
  }
  if (typeof value === "number") {
    if (path.endsWith("Bytes")) return formatFactBytes(value);
    if (path.endsWith("BytesPerSecond")) return `${round(value / 1e9)} GB/s`;
    if (path.endsWith("Watts")) return `${round(value)} W`;
    if (/[Hh]ertz(?:\.\w+)?$/.test(path)) return `${round(value / 1e6)} MHz`;
    if (path.endsWith("bitsPerSecond")) return `${round(value / 1e9)} Gbit/s`;
    if (path.endsWith("widthMax")) return `x${value}`;
    if (path.endsWith("Cores")) return `${round(value)} threads`;
  }
  return String(value);
}

const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const;

export function formatFactBytes(bytes: number): string {
  const step = bytes === 0 ? 0 : Math.min(5, Math.floor(Math.log2(Math.abs(bytes)) / 10));
  const value = bytes / 2 ** (10 * step);
  const digits = step === 0 || value >= 100 || Number.isInteger(value) ? 0 : 1;
  return `${value.toFixed(digits)} ${units[step] ?? "B"}`;
}

const round = (value: number): string => String(Math.round(value * 10) / 10);
