/** The inventory as a table for people. A value that is not there shows its reason, never 0. */
import type { NumberField, Stats } from "../../agent/stats/schema.ts";
import { alignColumns } from "../table.ts";

export function statsTable(stats: Stats): string {
  const { host, gpus } = stats;
  const rows = gpus.map((gpu) => [
    String(gpu.index.value),
    gpu.model.value ?? "n/a",
    gpu.pci_bus_id.value ?? "n/a",
    `${gigabytes(gpu.memory_used)} / ${gigabytes(gpu.memory_total)} GiB`,
    gpu.average_power.value === null
      ? absent(gpu.average_power)
      : `${gpu.average_power.value.toFixed(1)} W (${gpu.average_power.window_seconds ?? 0} s, n=${gpu.average_power.samples})`,
    `${gpu.pcie_link.type.value ?? "PCIe"} gen ${plain(gpu.pcie_link.generation)} x${plain(gpu.pcie_link.width)}`,
    gpu.p2p.peers.length === 0
      ? "none"
      : `${gpu.p2p.peers.filter(({ accessible }) => accessible).length} of ${gpu.p2p.peers.length}`,
    gpu.up === false ? "lost" : gpu.simulated ? "simulated" : "ok",
  ]);
  const heading = ["GPU", "MODEL", "PCI", "MEMORY", "AVERAGE POWER", "LINK", "PEERS", "STATE"];
  const top = `${host.name}: ${host.processor.value ?? "unknown processor"}, ${host.processor_cores.value} cores, ${gpus.length} GPUs${stats.simulated ? " (simulated)" : ""}\n`;
  return gpus.length === 0 ? top : `${top}\n${alignColumns([heading, ...rows])}`;
}

const absent = (field: NumberField): string => `n/a (${field.absent ?? "unknown"})`;
const plain = (field: NumberField): string =>
  field.value === null ? absent(field) : String(field.value);
const gigabytes = (field: NumberField): string =>
  field.value === null ? absent(field) : (field.value / 2 ** 30).toFixed(1);
