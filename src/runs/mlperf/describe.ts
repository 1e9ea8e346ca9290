/**
 * Converts a snapshot to an MLPerf system description: known fields are filled in, the others are listed with what they need.
 * Never includes power: MLPerf power is measured at the wall with an analyser, which a GPU's own sensor does not replace.
 */
import type { Snapshot } from "../../machine/snapshot.ts";
import { formatFactBytes } from "../snapshot/words.ts";
import { otherFields, personalFields, requiredFields } from "./fields.ts";

export interface MissingField {
  readonly field: string;
  readonly why: string;
  /** True if the submission checker rejects a description in which it is empty. */
  readonly required: boolean;
}

export interface MlperfDescription {
  /** Every field of the form as text, which MLPerf's checkers expect even for numbers; missing fields are empty. */
  readonly system: Readonly<Record<string, string>>;
  readonly missing: readonly MissingField[];
  /** What the user must check before submitting it. */
  readonly warnings: readonly string[];
}

export function describeForMlperf(snapshot: Snapshot): MlperfDescription {
  const found: Readonly<Record<string, string | number | undefined>> = {
    number_of_nodes: 1,
    ...hostFields(snapshot),
    ...acceleratorFields(snapshot),
    ...softwareFields(snapshot),
  };
  const system: Record<string, string> = {};
  const missing: MissingField[] = [];
  for (const [field, why] of [...personalFields, ...otherFields]) {
    const value = found[field];
    system[field] = String(value ?? "");
    if (value === undefined) missing.push({ field, why, required: requiredFields.has(field) });
  }
  return { system, missing, warnings: warningsOf(snapshot) };
}

function warningsOf({ simulated, hidden, facts }: Snapshot): string[] {
  const models = new Set(wholeGpus(facts.gpus).map(({ model }) => model));
  return [
    ...(simulated ? ["The GPUs are simulated: this describes no machine that exists."] : []),
    ...(models.size > 1
      ? [`The GPUs are of ${models.size} models: MLPerf asks for one description of each kind.`]
      : []),
    ...hidden,
  ];
}

type Fields = Readonly<Record<string, string | number | undefined>>;

function hostFields({ facts }: Snapshot): Fields {
  const { processor, memory, storage, network, board } = facts;
  const { sockets, cores, caches = [], frequency } = processor;
  const sizes = storage.flatMap(({ sizeBytes }) => sizeBytes ?? []);
  const kinds = [...new Set(storage.map(({ kind }) => kind))];
  const nodes = memory.numaNodes?.length;
  return {
    host_processor_model_name: processor.model,
    host_processors_per_node: sockets,
    // MLPerf counts the cores of one processor.
    host_processor_core_count:
      cores === undefined || sockets === undefined ? undefined : cores / sockets,
    host_processor_vcpu_count: processor.threads,
    host_processor_frequency:
      frequency.maxHertz === undefined
        ? undefined
        : `up to ${(frequency.maxHertz / 1e9).toFixed(2)} GHz${frequency.governor === undefined ? "" : ` (governor ${frequency.governor})`}`,
    host_processor_caches:
      caches.length === 0
        ? undefined
        : caches
            .map(
              ({ level, type, sizeBytes, count }) =>
                `${count}x ${formatFactBytes(sizeBytes)} L${level}${type === "unified" ? "" : ` ${type}`}`,
            )
            .join(", "),
    host_memory_capacity:
      memory.totalBytes === undefined ? undefined : formatFactBytes(memory.totalBytes),
    host_memory_configuration: nodes === undefined || nodes < 2 ? undefined : `${nodes} NUMA nodes`,
    host_storage_capacity:
      sizes.length === 0 ? undefined : formatFactBytes(sizes.reduce((sum, size) => sum + size, 0)),
    host_storage_type: kinds.length === 0 ? undefined : kinds.join(", "),
    host_networking: networkText(network),
    host_network_card_count: network.length === 0 ? undefined : network.length,
    boot_firmware_version: board.biosVersion,
  };
}

function networkText(network: Snapshot["facts"]["network"]): string | undefined {
  const counts = new Map<string, number>();
  for (const { bitsPerSecond, driver } of network) {
    const speed = bitsPerSecond === undefined ? "" : `${bitsPerSecond / 1e9} Gbit/s `;
    const text = `${speed}${driver ?? "card"}`;
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  if (counts.size === 0) return undefined;
  return [...counts].map(([text, count]) => `${count}x ${text}`).join(", ");
}

const wholeGpus = (gpus: Snapshot["facts"]["gpus"]): Snapshot["facts"]["gpus"] =>
  gpus.filter(({ parent }) => parent === undefined);

function acceleratorFields({ facts }: Snapshot): Fields {
  const gpus = wholeGpus(facts.gpus);
  const same = <Value>(
    pick: (gpu: (typeof gpus)[number]) => Value | undefined,
    show: (value: Value) => string,
  ) => {
    const all = gpus.flatMap((gpu) => pick(gpu) ?? []);
    const texts = [...new Set(all.map((value) => show(value as Value)))];
    return texts.length === 0 || all.length < gpus.length ? undefined : texts.join(", ");
  };
  const hertz = (value: number): string => `up to ${Math.round(value / 1e6)} MHz`;
  return {
    accelerators_per_node: gpus.length,
    accelerator_model_name: same(({ model }) => model, String),
    accelerator_memory_capacity: same(({ memoryTotalBytes }) => memoryTotalBytes, formatFactBytes),
    accelerator_frequency: same(({ clocks }) => clocks.maxHertz["graphics"], hertz),
    accelerator_host_interconnect: same(
      ({ pcie }) =>
        pcie.generationMax === undefined || pcie.widthMax === undefined ? undefined : pcie,
      ({ generationMax, widthMax }) => `PCIe Gen${generationMax ?? ""} x${widthMax ?? ""}`,
    ),
    hw_notes: same(
      ({ powerLimitWatts, eccEnabled }) =>
        [
          ...(eccEnabled === undefined ? [] : [`ECC ${eccEnabled ? "on" : "off"}`]),
          ...(powerLimitWatts === undefined ? [] : [`power limit ${powerLimitWatts} W`]),
        ].join(", ") || undefined,
      String,
    ),
  };
}

const softwareNames: Readonly<Record<string, string>> = {
  nvidia_driver: "NVIDIA driver",
  cuda_driver: "CUDA (driver)",
  cuda_toolkit: "CUDA toolkit",
  amdgpu_driver: "amdgpu driver",
  rocm: "ROCm",
};

function softwareFields({ facts, hidden }: Snapshot): Fields {
  const { os, software, container } = facts;
  const stack = Object.entries(software.versions).map(
    ([name, version]) => `${softwareNames[name] ?? name} ${version}`,
  );
  return {
    operating_system:
      os.name === undefined
        ? undefined
        : `${os.name}${os.kernel === undefined ? "" : ` (kernel ${os.kernel})`}`,
    other_software_stack: stack.length === 0 ? undefined : stack.join(", "),
    sw_notes: container.inside && hidden.length > 0 ? hidden.join(" ") : undefined,
  };
}
