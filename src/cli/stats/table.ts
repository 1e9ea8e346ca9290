/** Formats the inventory as a table. A missing value shows its reason, never 0. */
import { countOf } from "../command/quantity.ts";
import type { GpuStats, NumberField, Stats } from "../../agent/stats/schema.ts";
import { alignColumns } from "../table.ts";

export function statsTable(stats: Stats): string {
  const { host, gpus } = stats;
  const rows = gpus.map((gpu) => [
    String(gpu.index.value),
    gpu.model.value ?? "n/a",
    gpu.pci_bus_id.value ?? "n/a",
    `${gigabytes(gpu.memory_used)} / ${gigabytes(gpu.memory_total)} GiB`,
    power(gpu),
    `${gpu.pcie_link.type.value ?? "PCIe"} gen ${plain(gpu.pcie_link.generation)} x${plain(gpu.pcie_link.width)}`,
    gpu.p2p.peers.length === 0
      ? "none"
      : `${gpu.p2p.peers.filter(({ accessible }) => accessible).length} of ${gpu.p2p.peers.length}`,
    gpu.up === false ? "lost" : gpu.simulated ? "simulated" : "ok",
  ]);
  const heading = ["GPU", "MODEL", "PCI", "MEMORY", "AVERAGE POWER", "LINK", "PEERS", "STATE"];
  const top = `${host.name}: ${[...hostParts(host), `${gpuCount(stats)}${stats.simulated ? " (simulated)" : ""}`].join(", ")}\n`;
  return gpus.length === 0 ? top : `${top}\n${alignColumns([heading, ...rows])}`;
}

/** Board power, or chip power if the board reports none; labelled, so that they are not confused. */
function power({ average_power: board, average_chip_power: chip }: GpuStats): string {
  const [field, name] =
    board.value === null && typeof chip?.value === "number" ? [chip, " chip"] : [board, ""];
  return field.value === null
    ? absent(field)
    : `${field.value.toFixed(1)} W${name} (${field.window_seconds ?? 0} s, n=${field.samples})`;
}

/** Limits of this process are only shown if they are below the machine's. */
function hostParts(host: Stats["host"]): string[] {
  const cores = host.processor_cores.value;
  const threads = host.processor_threads?.value ?? null;
  const usable = host.available_threads?.value ?? null;
  const parts = [host.processor.value ?? "unknown processor"];
  if (cores !== null) parts.push(`${cores} cores`);
  else if (threads !== null) parts.push(countOf(threads, "thread"));
  if (usable !== null && threads !== null && usable < threads)
    parts.push(`${usable} of ${countOf(threads, "thread")} for this process`);
  const limit = host.memory_limit;
  if (typeof limit?.value === "number") parts.push(`memory limit ${gigabytes(limit)} GiB`);
  return parts;
}

/** MIG instances are listed, but not counted as GPUs. */
function gpuCount({ gpu_count: { value }, gpus }: Stats): string {
  const instances = gpus.length - value;
  return instances > 0
    ? `${countOf(value, "GPU")} with ${countOf(instances, "MIG instance")}`
    : countOf(value, "GPU");
}

const absent = (field: NumberField): string => `n/a (${field.absent ?? "unknown"})`;
const plain = (field: NumberField): string =>
  field.value === null ? absent(field) : String(field.value);
const gigabytes = (field: NumberField): string =>
  field.value === null ? absent(field) : (field.value / 2 ** 30).toFixed(1);
