/** The fields of a system description that MLPerf's checkers require, and why they may be missing. */

type Field = readonly [name: string, whyMissing: string];

const personal = "only the submitter can say";

/** Fields that only a person can fill in. */
export const personalFields: readonly Field[] = [
  ["division", `${personal}: open or closed`],
  ["submitter", personal],
  ["status", `${personal}: available, preview or rdi`],
  ["system_name", `${personal}: the name of the system in the results`],
  ["system_type", `${personal}: datacenter or edge`],
  ["system_type_detail", personal],
  ["framework", `${personal}: what ran the model, with its version`],
  ["cooling", `${personal}: air, liquid`],
];

const noSource = "neither the kernel nor a driver reports it";
const notHere = "this machine does not report it, or a container hides it";

export const otherFields: readonly Field[] = [
  ["number_of_nodes", notHere],
  ["host_processor_model_name", notHere],
  ["host_processors_per_node", notHere],
  ["host_processor_core_count", notHere],
  ["host_processor_vcpu_count", notHere],
  ["host_processor_frequency", notHere],
  ["host_processor_caches", notHere],
  ["host_processor_interconnect", noSource],
  ["host_memory_capacity", notHere],
  ["host_memory_configuration", "only dmidecode reads the modules, as root"],
  ["host_storage_capacity", notHere],
  ["host_storage_type", notHere],
  ["host_networking", notHere],
  ["host_networking_topology", noSource],
  ["host_network_card_count", notHere],
  ["accelerators_per_node", notHere],
  ["accelerator_model_name", "no GPU was read"],
  ["accelerator_memory_capacity", "a GPU did not report it"],
  [
    "accelerator_memory_configuration",
    "the kind of memory is in the data sheet, not in the driver",
  ],
  ["accelerator_on-chip_memories", "in the data sheet, not in the driver"],
  ["accelerator_frequency", "a GPU did not report it"],
  ["accelerator_host_interconnect", "a GPU did not report it"],
  ["accelerator_interconnect", "who reaches whom is known (p2p), by which kind of link is not"],
  ["accelerator_interconnect_topology", "who reaches whom is known (p2p), by which way is not"],
  ["operating_system", notHere],
  ["other_software_stack", "no version of CUDA, ROCm or a driver was found"],
  ["hw_notes", "may stay empty"],
  ["sw_notes", "may stay empty"],
  ["boot_firmware_version", "required with power: the BIOS version is not reported here"],
];

/** Fields that MLPerf Inference's submission checker rejects if empty; the others must be present and may be empty. */
export const requiredFields: ReadonlySet<string> = new Set([
  "division",
  "submitter",
  "system_type",
  "status",
  "system_name",
  "number_of_nodes",
  "host_processor_model_name",
  "host_processors_per_node",
  "host_processor_core_count",
  "host_memory_capacity",
  "host_memory_configuration",
  "host_storage_capacity",
  "host_storage_type",
  "host_networking",
  "host_network_card_count",
  "host_networking_topology",
  "accelerators_per_node",
  "accelerator_model_name",
  "accelerator_memory_capacity",
  "accelerator_host_interconnect",
  "accelerator_memory_configuration",
  "accelerator_interconnect",
  "cooling",
  "framework",
  "operating_system",
  "other_software_stack",
]);
