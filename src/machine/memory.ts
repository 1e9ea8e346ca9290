/** Memory: the kernel's total, huge pages and NUMA nodes. Container limits are in cgroup-limits.ts. */
import { listDir, readText } from "./sysfs/read.ts";
import type { SnapshotFacts } from "./snapshot.ts";
import { lineOf, type Machine, type MissingFacts, optionalFact } from "./machine.ts";
import { parseMeminfo, parseBracketed } from "./proc.ts";

type Memory = SnapshotFacts["memory"];

export async function readMemory(machine: Machine, missing: MissingFacts): Promise<Memory> {
  const { procfs, sysfs, fileAccess } = machine;
  const text = await readText(`${procfs}/meminfo`, 8_192, fileAccess);
  const sizes = text.ok ? parseMeminfo(text.value) : new Map<string, number>();
  const totalBytes = sizes.get("MemTotal");
  if (totalBytes === undefined)
    missing.note("memory.totalBytes", text.ok ? "unsupported" : text.reason);
  const [count, sizeBytes] = [sizes.get("HugePages_Total"), sizes.get("Hugepagesize")];
  const transparent = await lineOf(machine, `${sysfs}/kernel/mm/transparent_hugepage/enabled`);
  const numaNodes = await readNodes(machine);
  if (numaNodes.length === 0) missing.note("memory.numaNodes", "unsupported");
  return {
    ...optionalFact("totalBytes", totalBytes),
    ...optionalFact("swapTotalBytes", sizes.get("SwapTotal")),
    ...optionalFact(
      "hugePages",
      count === undefined || sizeBytes === undefined ? undefined : { count, sizeBytes },
    ),
    ...optionalFact(
      "transparentHugePages",
      parseBracketed(missing.optional("memory.transparentHugePages", transparent) ?? ""),
    ),
    ...optionalFact("numaNodes", numaNodes.length === 0 ? undefined : numaNodes),
  };
}

async function readNodes(machine: Machine): Promise<NonNullable<Memory["numaNodes"]>> {
  const { sysfs, fileAccess } = machine;
  const folder = `${sysfs}/devices/system/node`;
  const names = await listDir(folder, fileAccess);
  const numbers = (names.ok ? names.value : [])
    .flatMap((name) => /^node(\d{1,4})$/.exec(name)?.[1] ?? [])
    .map(Number)
    .toSorted((a, b) => a - b);
  const nodes = await Promise.all(
    numbers.map(async (node) => {
      const [memory, cpus] = await Promise.all([
        readText(`${folder}/node${node}/meminfo`, 8_192, fileAccess),
        lineOf(machine, `${folder}/node${node}/cpulist`),
      ]);
      const kilobytes = memory.ok ? /MemTotal:\s+(\d{1,15}) kB/.exec(memory.value)?.[1] : undefined;
      if (kilobytes === undefined) return [];
      return [{ node, memoryBytes: Number(kilobytes) * 1_024, cpus: cpus.ok ? cpus.value : "" }];
    }),
  );
  return nodes.flat();
}
