/** Metrics of wear and misconfiguration. */
import { device, errorType, yesNo } from "./device.ts";
import type { LabelSpec } from "./entry.ts";

const cause: LabelSpec = {
  name: "cause",
  help: "Kind of error that caused the retirement.",
  values: ["corrected", "uncorrected"],
};

const anomalyKind: LabelSpec = {
  name: "kind",
  help: "Kind of anomaly.",
  values: [
    "temperature_spike",
    "cooling_degraded",
    "fan_slow",
    "power_spike",
    "clock_low",
    "straggler",
    "memory_leak",
    "link_degraded",
  ],
};

/** The checks that a health verdict consists of; `src/view/health` defines the values. */
const check: LabelSpec = {
  name: "check",
  help: "Check: presence, driver_errors, memory, recovery, interconnect, pcie, cooling, clock or power.",
};
export const reasonLabels: readonly LabelSpec[] = [
  { name: "reason", help: "Reason, such as xid_48 or ecc_uncorrected." },
  { name: "title", help: "Reason in a few words." },
  {
    name: "state",
    help: "Verdict that the reason leads to; healthy for a note.",
    values: ["healthy", "degraded", "failing", "lost"],
  },
  {
    name: "action",
    help: "Smallest action that helps.",
    values: ["none", "restart_app", "inspect", "reset_gpu", "reboot", "drain"],
  },
];

export const health = {
  healthState: device("gpu_health_state", {
    help: "Health verdict on the GPU: 0 healthy, 1 degraded, 2 failing, 3 lost; absent if too little is reported for a verdict.",
    tier: "slow",
    resolution: 1,
    plausible: [0, 3],
    given: { nvidia: "derived", amd: "derived", intel: "derived", sim: "derived" },
  }),
  healthReason: yesNo("gpu_health_reason", {
    help: "1 for each current reason of the verdict.",
    tier: "slow",
    labels: [check, ...reasonLabels],
    given: { nvidia: "derived", amd: "derived", intel: "derived", sim: "derived" },
  }),
  healthUnchecked: yesNo("gpu_health_unchecked", {
    help: "1 for each check that has no input from this GPU or its machine: the verdict does not cover it.",
    tier: "slow",
    labels: [check],
    given: { nvidia: "derived", amd: "derived", intel: "derived", sim: "derived" },
  }),
  anomalyActive: yesNo("gpu_anomaly_active", {
    help: "1 while the GPU deviates from its own history and from its peers; absent otherwise. Computed by the hub, not by agents.",
    labels: [anomalyKind, { name: "severity", help: "Severity.", values: ["warning", "info"] }],
    given: { nvidia: "derived", amd: "derived", intel: "derived", sim: "derived" },
  }),
  temperatureAtLoad: device("gpu_temperature_at_load_celsius", {
    help: "Predicted temperature of the GPU under sustained load at 70 % of its power limit, from its last hours; rises over months as thermal paste and fans wear. Computed by the hub.",
    tier: "slow",
    plausible: [-40, 200],
    given: { nvidia: "derived", amd: "derived", intel: "derived", sim: "derived" },
  }),
  asleep: yesNo("gpu_asleep", {
    help: "1 while the driver has put the GPU to sleep; its other readings are then absent, because reading them would wake it.",
    given: { amd: "power/runtime_status", intel: "power/runtime_status" },
  }),
  retiredPages: device("gpu_retired_pages", {
    help: "Retired memory pages.",
    tier: "slow",
    labels: [cause],
    given: { nvidia: "nvmlDeviceGetRetiredPages, before Ampere", amd: "ras/gpu_vram_bad_pages" },
  }),
  retiredPagesPending: yesNo("gpu_retired_pages_pending", {
    help: "1 if pages will be retired at the next reset.",
    tier: "slow",
    given: {
      nvidia: "nvmlDeviceGetRetiredPagesPendingStatus",
      amd: "ras/gpu_vram_bad_pages",
    },
  }),
  remappedRows: device("gpu_remapped_rows", {
    help: "Memory rows remapped to spare rows.",
    tier: "slow",
    labels: [cause],
    given: { nvidia: "nvmlDeviceGetRemappedRows, Ampere and newer" },
  }),
  remappedRowsPending: yesNo("gpu_remapped_rows_pending", {
    help: "1 if rows will be remapped at the next reset.",
    tier: "slow",
    given: { nvidia: "nvmlDeviceGetRemappedRows" },
  }),
  rowRemapFailed: yesNo("gpu_row_remap_failed", {
    help: "1 if a row could not be remapped: replace the board.",
    tier: "slow",
    given: { nvidia: "nvmlDeviceGetRemappedRows" },
  }),
  blockErrors: device("gpu_block_errors_total", {
    help: "RAS errors since boot by hardware block; their sum may exceed gpu_ecc_errors_total, which counts memory errors only.",
    tier: "slow",
    labels: [{ name: "block", help: "Hardware block, such as umc, gfx or sdma." }, errorType],
    given: { amd: "ras/*_err_count" },
  }),
  pcieErrors: device("gpu_pcie_errors_total", {
    help: "PCIe errors reported by the device since boot (AER).",
    tier: "slow",
    labels: [
      {
        name: "severity",
        help: "Severity of the error.",
        values: ["correctable", "nonfatal", "fatal"],
      },
    ],
    given: { amd: "aer_dev_*", intel: "aer_dev_*" },
  }),
  partitionInfo: device("gpu_partition_info", {
    help: "How the GPU is partitioned; the value is always 1.",
    tier: "slow",
    labels: [
      { name: "compute", help: "Compute partition mode, such as SPX or CPX." },
      { name: "memory", help: "Memory partition mode, such as NPS1." },
    ],
    given: { amd: "current_compute_partition, current_memory_partition" },
  }),
  partitions: device("gpu_partitions", {
    help: "Number of partitions of the GPU.",
    tier: "slow",
    resolution: 1,
    plausible: [1, 64],
    given: { amd: "gpu_metrics num_partition" },
  }),
  eccEnabled: yesNo("gpu_ecc_enabled", {
    help: "1 if ECC is on.",
    tier: "static",
    given: { nvidia: "nvmlDeviceGetEccMode" },
  }),
  eccPending: yesNo("gpu_ecc_pending", {
    help: "1 if ECC will be on after the next reset.",
    tier: "static",
    given: { nvidia: "nvmlDeviceGetEccMode" },
  }),
  persistenceEnabled: yesNo("gpu_persistence_enabled", {
    help: "1 if the driver stays loaded without clients.",
    tier: "static",
    given: { nvidia: "nvmlDeviceGetPersistenceMode" },
  }),
  computeMode: device("gpu_compute_mode", {
    help: "Compute mode: 0 default, 1 exclusive thread, 2 prohibited, 3 exclusive process.",
    tier: "slow",
    resolution: 1,
    plausible: [0, 3],
    given: { nvidia: "nvmlDeviceGetComputeMode" },
  }),
  recoveryAction: device("gpu_recovery_action", {
    help: "The action the driver recommends to recover the GPU: 0 nothing, 1 reset it, 2 reboot, 3 drain peer traffic, 4 drain and reset, 5 recover the IMEX domain, 6 reset its PCIe bus, 7 reboot the system.",
    tier: "slow",
    resolution: 1,
    plausible: [0, 7],
    given: { nvidia: "NVML field 230" },
  }),
  fabricState: device("gpu_fabric_state", {
    help: "State of NVLink fabric registration: 1 not started, 2 in progress, 3 completed; absent without a fabric.",
    tier: "slow",
    resolution: 1,
    plausible: [1, 3],
    given: { nvidia: "nvmlDeviceGetGpuFabricInfo" },
  }),
  migEnabled: yesNo("gpu_mig_enabled", {
    help: "1 if the GPU is in MIG mode.",
    tier: "slow",
    given: { nvidia: "nvmlDeviceGetMigMode" },
  }),
  migPending: yesNo("gpu_mig_pending", {
    help: "1 if the GPU will be in MIG mode after the next reset.",
    tier: "slow",
    given: { nvidia: "nvmlDeviceGetMigMode" },
  }),
} as const;
