/** Metrics of a GPU. Metrics that must not be summed over their labels have separate names. */
import { activity } from "./activity.ts";
import { check } from "./check.ts";
import { device, errorType, yesNo } from "./device.ts";
import type { LabelSpec } from "./entry.ts";
import { health } from "./health.ts";
import { interconnect } from "./interconnect.ts";
import { memory } from "./memory.ts";
import { pcie } from "./pcie.ts";
import { process } from "./process.ts";
import { vendors } from "../vendor.ts";

const sensor: LabelSpec = {
  name: "sensor",
  help: "Where the temperature is measured.",
  values: [
    "edge",
    "hotspot",
    "memory",
    "vrm",
    "vrm_soc",
    "vrm_memory",
    "vrm_memory2",
    "soc",
    "skin",
    "board",
  ],
};
const limit: LabelSpec = {
  name: "limit",
  help: "What the limit triggers: the driver aims for target, slows down at slowdown, powers off at shutdown.",
  values: ["target", "slowdown", "shutdown", "memory"],
};
const domain: LabelSpec = {
  name: "domain",
  help: "Which clock.",
  values: ["graphics", "sm", "memory", "video", "video_2", "soc", "fabric", "media"],
};
const fan: LabelSpec = { name: "fan", help: "Fan number, from 1." };
const rail: LabelSpec = {
  name: "rail",
  help: "Supply rail as named by the device, such as gfx, soc, memory or slot.",
};
const reason: LabelSpec = {
  name: "reason",
  help: "Reason for the lower clocks.",
  values: [
    "power_cap",
    "power_brake",
    "thermal",
    "thermal_hardware",
    "sync_boost",
    "clock_setting",
    "voltage",
    "current",
    "reliability",
  ],
};
const xid: LabelSpec = { name: "xid", help: "NVIDIA's XID error code." };
const peer: LabelSpec = { name: "peer", help: "uuid of the other GPU." };

export const gpu = {
  up: yesNo("gpu_up", {
    help: "1 while the GPU responds, 0 if a GPU seen before does not.",
    given: {
      nvidia: "device handle answers",
      amd: "sysfs device folder",
      intel: "sysfs device folder",
      sim: "fault gpu-lost",
    },
  }),
  info: device("gpu_info", {
    help: "Identity of the GPU, with the labels that --machine-label sets; the value is always 1.",
    labels: [
      { name: "vendor", help: "Vendor.", values: vendors },
      { name: "model", help: "Marketing name as the device or driver reports it." },
      { name: "driver", help: "Driver version." },
      { name: "vbios", help: "Firmware version of the board." },
      { name: "pci_bus_id", help: "domain:bus:device.function, lower case." },
      {
        name: "parent",
        help: "uuid of the GPU that this instance belongs to; absent on a whole GPU.",
      },
      { name: "numa_node", help: "NUMA node of its slot; absent if the machine reports none." },
      {
        name: "simulated",
        help: "true if the values come from the simulator; absent on real hardware.",
      },
    ],
    given: {
      nvidia: "nvmlDeviceGetName, …",
      amd: "product_name, vbios_version",
      intel: "device id",
      sim: "the model's constants",
    },
  }),
  ownerPodInfo: device("gpu_owner_pod_info", {
    help: "A pod that uses the GPU, with its controller and labels; the value is always 1. Read from Kubernetes by a hub with --pod-info on; each key of --pod-labels adds a label (label_KEY).",
    tier: "slow",
    labels: [
      { name: "namespace", help: "Kubernetes namespace." },
      { name: "pod", help: "Kubernetes pod." },
      { name: "owner_kind", help: "Kind of the controller: Deployment, StatefulSet, Job, …" },
      { name: "owner_name", help: "Name of the controller." },
    ],
    given: { nvidia: "Kubernetes API", amd: "Kubernetes API", intel: "Kubernetes API" },
  }),
  ownerInfo: device("gpu_owner_info", {
    help: "Owner of the work on the GPU; joins with the other series by host and uuid, so that jobs start and end without new series.",
    tier: "slow",
    labels: [
      { name: "namespace", help: "Kubernetes namespace." },
      { name: "pod", help: "Kubernetes pod." },
      { name: "container", help: "Container name." },
      {
        name: "workload",
        help: "Slurm job id; job:, wandb: or mlflow: and a name from the environment; unit: and the systemd service; or the simulator's job name.",
      },
      { name: "user", help: "User who started it." },
    ],
    given: { nvidia: "process lists joined with cgroups and the kubelet", sim: "the job queue" },
  }),
  listenerInfo: device("gpu_listener_info", {
    help: "A process that uses the GPU, or an ancestor of it, listens on this TCP port of the machine: joins a server with its GPUs.",
    tier: "slow",
    labels: [{ name: "port", help: "TCP port; at most 16 for each GPU." }],
    given: {
      nvidia: "process lists joined with /proc/PID/fd and /proc/net/tcp",
      amd: "fdinfo joined with /proc/PID/fd and /proc/net/tcp",
      intel: "fdinfo joined with /proc/PID/fd and /proc/net/tcp",
    },
  }),
  utilization: device("gpu_utilization_ratio", {
    help: "Share of time in which at least one kernel ran. 1 means busy, not fast: see gpu_sm_activity_ratio.",
    resolution: 0.01,
    given: {
      nvidia: "nvmlDeviceGetUtilizationRates.gpu",
      amd: "gpu_busy_percent",
      intel: "fdinfo, busiest engine; needs root",
      gpuz: "GPU Load",
      sim: "SM busy",
    },
  }),
  memoryControllerUtilization: device("gpu_memory_controller_utilization_ratio", {
    help: "Share of time in which device memory was read or written.",
    resolution: 0.01,
    given: {
      nvidia: "nvmlDeviceGetUtilizationRates.memory",
      amd: "mem_busy_percent",
      gpuz: "Memory Controller Load",
      sim: "DRAM traffic",
    },
  }),
  encoderUtilization: device("gpu_encoder_utilization_ratio", {
    help: "Share of time in which the video encoder was busy.",
    resolution: 0.01,
    given: { nvidia: "nvmlDeviceGetEncoderUtilization", sim: "nvidia models" },
  }),
  decoderUtilization: device("gpu_decoder_utilization_ratio", {
    help: "Share of time in which the video decoder was busy.",
    resolution: 0.01,
    given: {
      nvidia: "nvmlDeviceGetDecoderUtilization",
      gpuz: "Video Engine Load",
      sim: "nvidia models",
    },
  }),
  ...activity,
  memoryUsed: device("gpu_memory_used_bytes", {
    help: "Device memory in use.",
    given: {
      nvidia: "nvmlDeviceGetMemoryInfo_v2",
      amd: "mem_info_vram_used",
      intel: "fdinfo, sum over programs; needs root",
      gpuz: "Memory Used",
      sim: "the job's memory",
    },
  }),
  memoryFree: device("gpu_memory_free_bytes", {
    help: "Device memory available to programs.",
    given: {
      nvidia: "nvmlDeviceGetMemoryInfo_v2",
      amd: "total less used",
      sim: "total less used and reserved",
    },
  }),
  memoryTotal: device("gpu_memory_total_bytes", {
    help: "Total device memory.",
    tier: "static",
    given: {
      nvidia: "nvmlDeviceGetMemoryInfo_v2",
      amd: "mem_info_vram_total",
      intel: "lmem_total_bytes, physical_vram_size_bytes",
      sim: "the model's constants",
    },
  }),
  memoryUsedRatio: device("gpu_memory_used_ratio", {
    help: "Used share of device memory.",
    given: { nvidia: "derived", amd: "derived", sim: "derived" },
  }),
  temperature: device("gpu_temperature_celsius", {
    help: "Temperature by sensor.",
    labels: [sensor],
    plausible: [-40, 150],
    given: {
      nvidia: "nvmlDeviceGetTemperature, field 82",
      amd: "hwmon temp*_input by label, gpu_metrics",
      intel: "hwmon temp*_input by label",
      gpuz: "GPU, Hot Spot and Memory Temperature",
      sim: "thermal RC model",
    },
  }),
  temperatureLimit: device("gpu_temperature_limit_celsius", {
    help: "Temperature limits reported by the device. Absent if the driver or nvidia-smi reports only a margin (T.Limit): see gpu_temperature_margin_celsius.",
    tier: "static",
    labels: [limit],
    plausible: [20, 150],
    given: {
      nvidia: "nvmlDeviceGetTemperatureThreshold",
      amd: "hwmon temp*_crit, _emergency",
      sim: "the model's constants",
    },
  }),
  temperatureMargin: device("gpu_temperature_margin_celsius", {
    help: "Margin to the temperature at which the GPU slows down.",
    plausible: [-100, 150],
    given: {
      nvidia: "nvmlDeviceGetMarginTemperature, or slowdown less edge",
      amd: "slowdown less its sensor",
      sim: "slowdown less its sensor",
    },
  }),
  power: device("gpu_power_watts", {
    help: "Power drawn by the whole board, averaged by the device.",
    given: {
      nvidia: "nvmlDeviceGetPowerUsage",
      amd: "power1_average where it is the board or an APU's package",
      intel: "energy*_input of the card, by difference",
      gpuz: "Board Power Draw",
      sim: "power model, one-second mean",
    },
  }),
  powerInstant: device("gpu_power_instant_watts", {
    help: "Power drawn by the whole board at the instant of reading.",
    given: {
      nvidia: "NVML field 186",
      amd: "power1_input",
      sim: "nvidia datacentre models",
    },
  }),
  powerAverage: device("gpu_power_average_watts", {
    help: "Power drawn by the whole board, averaged by the device over about a second; absent on devices that report no average.",
    given: { nvidia: "NVML field 185, Ampere (except GA100) and newer" },
  }),
  chipPower: device("gpu_chip_power_watts", {
    help: "Power drawn by the chip alone, without memory and board losses; not comparable with gpu_power_watts.",
    given: {
      amd: "power1_average on cards that report only the chip's",
      intel: "energy*_input of the package, by difference",
      gpuz: "GPU Chip Power Draw",
    },
  }),
  railPower: device("gpu_rail_power_watts", {
    help: "Power by supply rail.",
    labels: [rail],
    given: {
      amd: "gpu_metrics, parts of an APU's package",
      gpuz: "PCIe Slot, 6-Pin and 8-Pin Power",
    },
  }),
  powerLimit: device("gpu_power_limit_watts", {
    help: "Power limit in force.",
    tier: "slow",
    given: {
      nvidia: "nvmlDeviceGetEnforcedPowerLimit",
      amd: "power1_cap",
      intel: "power*_max",
      sim: "the model's constants",
    },
  }),
  powerLimitMin: device("gpu_power_limit_min_watts", {
    help: "Lowest power limit that can be set.",
    tier: "static",
    given: { nvidia: "nvmlDeviceGetPowerManagementLimitConstraints", amd: "power1_cap_min" },
  }),
  powerLimitMax: device("gpu_power_limit_max_watts", {
    help: "Highest power limit that can be set.",
    tier: "static",
    given: { nvidia: "nvmlDeviceGetPowerManagementLimitConstraints", amd: "power1_cap_max" },
  }),
  powerOfTdp: device("gpu_power_tdp_ratio", {
    help: "Power as a share of the board's rating, as computed by the tool; the rating in some logs is wrong.",
    plausible: [0, 10],
    given: { gpuz: "Power Consumption (%)" },
  }),
  memoryPower: device("gpu_memory_power_watts", {
    help: "Power drawn by device memory; part of gpu_power_watts.",
    given: { nvidia: "NVML field 185 with scope memory", gpuz: "MVDDC Power Draw" },
  }),
  powerLimitDefault: device("gpu_power_limit_default_watts", {
    help: "Default power limit of the board.",
    tier: "static",
    given: {
      nvidia: "nvmlDeviceGetPowerManagementDefaultLimit",
      amd: "power1_cap_default",
      sim: "the model's constants",
    },
  }),
  energy: device("gpu_energy_joules_total", {
    help: "Energy used since the driver was loaded, from the hardware's counter.",
    tier: "slow",
    given: {
      nvidia: "nvmlDeviceGetTotalEnergyConsumption, 4 ms a call",
      amd: "gpu_metrics energy_accumulator",
      intel: "hwmon energy*_input, the counter that counts",
      sim: "integral of true power",
    },
  }),
  energyCounterActive: yesNo("gpu_energy_counter_active", {
    help: "1 for the counter that gpu_energy_joules_total is read from, 0 for an unused one, for example one that does not advance.",
    tier: "static",
    labels: [
      { name: "counter", help: "Name of the counter in the driver." },
      { name: "scope", help: "What the counter covers.", values: ["board", "chip"] },
    ],
    given: { intel: "hwmon energy*_label" },
  }),
  energyIntegrated: device("gpu_energy_integrated_joules_total", {
    help: "Energy used since this program started, integrated from gpu_power_watts at the fast rate.",
    given: { nvidia: "derived", amd: "derived", intel: "derived", gpuz: "derived", sim: "derived" },
  }),
  clock: device("gpu_clock_hertz", {
    help: "Clock by domain.",
    labels: [domain],
    given: {
      nvidia: "nvmlDeviceGetClockInfo",
      amd: "hwmon freq*_input, gpu_metrics",
      intel: "gt_act_freq_mhz, gt*/freq0/act_freq",
      gpuz: "GPU and Memory Clock",
      sim: "clock controller",
    },
  }),
  clockMean: device("gpu_clock_mean_hertz", {
    help: "Mean clock between two slow readings, from five readings a second while the GPU is busy; used for FLOP/s estimates.",
    tier: "slow",
    labels: [domain],
    given: { nvidia: "nvmlDeviceGetClockInfo, with GPM" },
  }),
  clockMax: device("gpu_clock_max_hertz", {
    help: "Highest clock that can be requested.",
    tier: "static",
    labels: [domain],
    given: {
      nvidia: "nvmlDeviceGetMaxClockInfo",
      amd: "pp_dpm_*",
      intel: "gt_RP0_freq_mhz, gt*/freq0/rp0_freq",
      sim: "the model's constants",
    },
  }),
  fanSpeed: device("gpu_fan_speed_ratio", {
    help: "Fan speed as a share of its maximum; NVML's may be a little above 1.",
    labels: [fan],
    resolution: 0.01,
    plausible: [0, 1.2],
    given: {
      nvidia: "nvmlDeviceGetFanSpeed_v2",
      amd: "pwm1 / pwm1_max",
      gpuz: "Fan Speed (%)",
      sim: "fan curve",
    },
  }),
  fanRpm: device("gpu_fan_rpm", {
    help: "Fan speed in revolutions per minute.",
    labels: [fan],
    given: {
      nvidia: "nvmlDeviceGetFanSpeedRPM",
      amd: "fan1_input",
      intel: "fan*_input",
      gpuz: "Fan Speed (RPM)",
      sim: "amd models",
    },
  }),
  voltage: device("gpu_voltage_volts", {
    help: "Voltage by rail.",
    resolution: 0.0001,
    labels: [rail],
    given: {
      nvidia: "nvidia-smi -q only: NVML has no call for it",
      amd: "hwmon in*_input, gpu_metrics",
      intel: "hwmon in*_input",
      gpuz: "GPU Voltage",
      sim: "amd models",
    },
  }),
  ...pcie,
  eccErrors: device("gpu_ecc_errors_total", {
    help: "Memory errors since boot.",
    tier: "slow",
    labels: [errorType],
    given: {
      nvidia: "nvmlDeviceGetTotalEccErrors, volatile",
      amd: "ras/*_err_count",
      sim: "fault ecc-growth",
    },
  }),
  eccLifetimeErrors: device("gpu_ecc_lifetime_errors_total", {
    help: "Memory errors over the board's lifetime.",
    tier: "slow",
    labels: [errorType],
    given: { nvidia: "nvmlDeviceGetTotalEccErrors, aggregate", sim: "fault ecc-growth" },
  }),
  xidErrors: device("gpu_xid_errors_total", {
    help: "XID errors seen since this program started, by number; the series appears with the first one.",
    tier: "slow",
    labels: [xid],
    given: { nvidia: "nvmlEventSetWait_v2", sim: "fault xid" },
  }),
  xidLast: device("gpu_xid_last_timestamp_seconds", {
    help: "Time the XID error was last seen.",
    tier: "slow",
    labels: [xid],
    given: { nvidia: "nvmlEventSetWait_v2", sim: "fault xid" },
  }),
  xidWatched: yesNo("gpu_xid_watched", {
    help: "1 while the driver reports XID errors of this GPU as they occur: no gpu_xid_errors_total then means that none occurred. Absent if they cannot be watched, for example through nvidia-smi.",
    tier: "slow",
    given: { nvidia: "nvmlDeviceRegisterEvents", sim: "nvidia models" },
  }),
  clockEventReasons: device("gpu_clock_event_reasons_mask", {
    help: "NVIDIA's bitmask of reasons for the current clocks, as reported by the driver; bit 0 is idle. gpu_throttle_active has the throttle reasons by name.",
    resolution: 1,
    plausible: [0, 2 ** 32],
    given: { nvidia: "nvmlDeviceGetCurrentClocksEventReasons", sim: "clock controller" },
  }),
  throttleActive: yesNo("gpu_throttle_active", {
    help: "1 while clocks are throttled for this reason.",
    labels: [reason],
    given: {
      nvidia: "nvmlDeviceGetCurrentClocksEventReasons",
      amd: "gpu_metrics indep_throttle_status, residencies",
      intel: "throttle_reason_*, freq0/throttle/reason_*",
      gpuz: "PerfCap Reason",
      sim: "clock controller",
    },
  }),
  throttleSeconds: device("gpu_throttle_seconds_total", {
    help: "Time during which clocks were throttled for this reason.",
    labels: [reason],
    resolution: 0.001,
    given: { nvidia: "clocks event reason counters", sim: "clock controller" },
  }),
  performanceState: device("gpu_performance_state", {
    help: "NVIDIA's P-state: 0 is the fastest, 15 the slowest.",
    plausible: [0, 32],
    resolution: 1,
    given: { nvidia: "nvmlDeviceGetPerformanceState", sim: "nvidia models" },
  }),
  p2pAccessible: yesNo("gpu_p2p_accessible", {
    help: "1 if this GPU can read and write the peer's memory directly.",
    tier: "static",
    labels: [peer],
    given: {
      nvidia: "nvmlDeviceGetP2PStatus",
      amd: "kfd topology, io_links and p2p_links",
      sim: "same host, datacentre models",
    },
  }),
  p2pBandwidth: device("gpu_p2p_bandwidth_bytes_per_second", {
    help: "Maximum bandwidth to the peer in one direction, as reported by the driver; not measured.",
    tier: "static",
    labels: [peer],
    given: { amd: "kfd topology, max_bandwidth of the link" },
  }),
  ...memory,
  ...health,
  ...check,
  ...interconnect,
  ...process,
} as const;
