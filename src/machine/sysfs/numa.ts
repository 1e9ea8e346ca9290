/** The NUMA node of a PCI device. Read synchronously: it never changes, and the kernel returns it from memory. */
import { readFileSync } from "node:fs";

/** Undefined if the machine has no NUMA nodes (the kernel writes -1), or the file cannot be read. */
export function readNumaNode(sysfs: string, pciBusId: string): number | undefined {
  if (!/^[0-9a-f:.]{1,20}$/.test(pciBusId)) return undefined;
  try {
    const text = readFileSync(`${sysfs}/bus/pci/devices/${pciBusId}/numa_node`, "utf8").trim();
    return /^\d{1,4}$/.test(text) ? Number(text) : undefined;
  } catch {
    return undefined;
  }
}
