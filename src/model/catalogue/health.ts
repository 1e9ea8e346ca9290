/** Metrics of wear and misconfiguration. */
import { device, errorType, yesNo } from "./device.ts";
import type { LabelSpec } from "./entry.ts";

const cause: LabelSpec = {
  name: "cause",
  help: "The kind of error that led to it.",
  values: ["corrected", "uncorrected"],
};

const anomalyKind: LabelSpec = {
  name: "kind",
  help: "What departs from the usual.",
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
  help: "What was looked at: presence, driver_errors, memory, recovery, interconnect, pcie, cooling, clock or power.",
};
export const reasonLabels: readonly LabelSpec[] = [
  { name: "reason", help: "Name of the reason, such as xid_48 or ecc_uncorrected." },
  { name: "title", help: "The reason in a few words." },
  {
    name: "state",
    help: "What the reason makes of the verdict; healthy is a note.",
    values: ["healthy", "degraded", "failing", "lost"],
  },
  {
    name: "action",
    help: "The smallest action that helps.",
    values: ["none", "restart_app", "inspect", "reset_gpu", "reboot", "drain"],
  },
];

export const health = {
  healthState: device("gpu_health_state", {
    help: "The verdict on the GPU: 0 healthy, 1 degraded, 2 failing, 3 lost; absent where too little is reported for one.",
    tier: "slow",
    resolution: 1,
    plausible: [0, 3],
    given: { nvidia: "derived", amd: "derived", intel: "derived", sim: "derived" },
  }),
  healthReason: yesNo("gpu_health_reason", {
    help: "1 for every reason of the verdict while it stands.",
    tier: "slow",
    labels: [check, ...reasonLabels],
    given: { nvidia: "derived", amd: "derived", intel: "derived", sim: "derived" },
  }),
  healthUnchecked: yesNo("gpu_health_unchecked", {
    help: "1 for every check that this GPU or its machine gives no input for: the verdict does not cover it.",
    tier: "slow",
    labels: [check],
    given: { nvidia: "derived", amd: "derived", intel: "derived", sim: "derived" },
  }),
  anomalyActive: yesNo("gpu_anomaly_active", {
    help: "1 while the GPU departs from what its own past and its peers let expect; absent otherwise. Computed by the hub, not by agents.",
    labels: [
      anomalyKind,
      { name: "severity", help: "How much it matters.", values: ["warning", "info"] },
    ],
    given: { nvidia: "derived", amd: "derived", intel: "derived", sim: "derived" },
  }),
  temperatureAtLoad: device("gpu_temperature_at_load_celsius", {
    help: "The temperature the GPU would have after long at 70 % of its power limit, by what its last hours show: rises over months as paste and fans wear. Computed by the hub.",
    tier: "slow",
    plausible: [-40, 200],
    given: { nvidia: "derived", amd: "derived", intel: "derived", sim: "derived" },
  }),
  asleep: yesNo("gpu_asleep", {
    help: "1 while the driver has put the GPU to sleep; its other readings are then absent, since reading would wake it.",
    given: { amd: "power/runtime_status", intel: "power/runtime_status" },
  }),
  retiredPages: device("gpu_retired_pages", {
    help: "Retired memory pages.",
    tier: "slow",
    labels: [cause],
    given: { nvidia: "nvmlDeviceGetRetiredPages, before Ampere", amd: "ras/gpu_vram_bad_pages" },
  }),
  retiredPagesPending: yesNo("gpu_retired_pages_pending", {
    help: "1 where pages will be retired at the next reset.",
    tier: "slow",
    given: {
      nvidia: "nvmlDeviceGetRetiredPagesPendingStatus",
      amd: "ras/gpu_vram_bad_pages",
    },
  }),
  remappedRows: device("gpu_remapped_rows", {
    help: "Memory rows replaced by spare ones.",
    tier: "slow",
    labels: [cause],
    given: { nvidia: "nvmlDeviceGetRemappedRows, Ampere and newer" },
  }),
  remappedRowsPending: yesNo("gpu_remapped_rows_pending", {
    help: "1 where rows will be replaced at the next reset.",
    tier: "slow",
    given: { nvidia: "nvmlDeviceGetRemappedRows" },
  }),
  rowRemapFailed: yesNo("gpu_row_remap_failed", {
    help: "1 where a row could not be replaced: the board should be.",
    tier: "slow",
    given: { nvidia: "nvmlDeviceGetRemappedRows" },
  }),
  blockErrors: device("gpu_block_errors_total", {
    help: "RAS errors since boot by hardware block; their sum may exceed gpu_ecc_errors_total, which is memory alone.",
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
        help: "What the bus could do about it.",
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
    help: "Parts the GPU is split into.",
    tier: "slow",
    resolution: 1,
    plausible: [1, 64],
    given: { amd: "gpu_metrics num_partition" },
  }),
  eccEnabled: yesNo("gpu_ecc_enabled", {
    help: "1 where memory errors are corrected.",
    tier: "static",
    given: { nvidia: "nvmlDeviceGetEccMode" },
  }),
  eccPending: yesNo("gpu_ecc_pending", {
    help: "1 where memory errors will be corrected after the next reset.",
    tier: "static",
    given: { nvidia: "nvmlDeviceGetEccMode" },
  }),
  persistenceEnabled: yesNo("gpu_persistence_enabled", {
    help: "1 where the driver stays loaded without clients.",
    tier: "static",
    given: { nvidia: "nvmlDeviceGetPersistenceMode" },
  }),
  computeMode: device("gpu_compute_mode", {
    help: "Who may compute: 0 anyone, 1 one thread, 2 nobody, 3 one process.",
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
    help: "How far joining the NVLink fabric is: 1 not started, 2 in progress, 3 completed; absent without a fabric.",
    tier: "slow",
    resolution: 1,
    plausible: [1, 3],
    given: { nvidia: "nvmlDeviceGetGpuFabricInfo" },
  }),
  migEnabled: yesNo("gpu_mig_enabled", {
    help: "1 where the GPU is split into instances.",
    tier: "slow",
    given: { nvidia: "nvmlDeviceGetMigMode" },
  }),
  migPending: yesNo("gpu_mig_pending", {
    help: "1 where the GPU will be in MIG mode after the next reset.",
    tier: "slow",
    given: { nvidia: "nvmlDeviceGetMigMode" },
  }),
} as const;
