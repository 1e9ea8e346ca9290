/** The table of physical causes: title, consequences, and section of the runbook. */

const causeNames = [
  "driver_hung",
  "host_silent",
  "gpu_lost",
  "xid_error",
  "power_brake",
  "fan_failure",
  "airflow_lost",
  "cooling_degraded",
  "hot_room",
  "ecc_errors",
  "pcie_degraded",
  "interconnect_errors",
  "power_limit_lowered",
  "stuck_clocks",
  "thermal_throttling",
  "straggler",
  "memory_leak",
  "memory_full",
  "contention",
  "host_memory_pressure",
  "host_cpu_pressure",
  "idle_held",
  "job_ended",
] as const;
export type CauseName = (typeof causeNames)[number];

export interface CauseFacts {
  readonly title: string;
  /** Causes that this one leads to: on the same GPU they rank below it. */
  readonly leadsTo: readonly CauseName[];
  /** Section of the runbook. */
  readonly runbook: string;
}

const heat: readonly CauseName[] = ["thermal_throttling", "stuck_clocks", "straggler"];

export const causes: Readonly<Record<CauseName, CauseFacts>> = {
  driver_hung: {
    title: "The driver does not respond",
    leadsTo: ["gpu_lost", "host_silent"],
    runbook: "GpulseSourceFailing",
  },
  host_silent: {
    title: "The machine or its agent does not report",
    leadsTo: ["gpu_lost"],
    runbook: "GpulseExporterDown",
  },
  gpu_lost: {
    title: "GPU lost",
    leadsTo: ["interconnect_errors", "job_ended"],
    runbook: "GpuLost",
  },
  xid_error: {
    title: "Error reported by the driver",
    leadsTo: ["gpu_lost", "job_ended", "interconnect_errors"],
    runbook: "GpuXid",
  },
  power_brake: {
    title: "Slowed down by the power supply",
    leadsTo: ["stuck_clocks", "straggler"],
    runbook: "GpuPowerBrake",
  },
  fan_failure: {
    title: "Fan stopped or too slow",
    leadsTo: ["airflow_lost", "cooling_degraded", ...heat],
    runbook: "GpuFanStopped",
  },
  airflow_lost: {
    title: "No airflow over the heatsink",
    leadsTo: ["cooling_degraded", ...heat],
    runbook: "GpuTooHot",
  },
  cooling_degraded: {
    title: "Heat does not reach the heatsink",
    leadsTo: heat,
    runbook: "GpuCoolingWears",
  },
  hot_room: {
    title: "The whole machine is hotter than usual",
    leadsTo: heat,
    runbook: "GpuHot",
  },
  ecc_errors: { title: "Memory errors grow", leadsTo: [], runbook: "GpuEccGrowing" },
  pcie_degraded: {
    title: "PCIe link degraded",
    leadsTo: ["straggler"],
    runbook: "GpuPcieDegraded",
  },
  interconnect_errors: {
    title: "Errors on links to other GPUs",
    leadsTo: ["straggler"],
    runbook: "GpuNvlinkDown",
  },
  power_limit_lowered: {
    title: "Power limit was lowered",
    leadsTo: ["stuck_clocks", "straggler"],
    runbook: "GpuPowerThrottling",
  },
  stuck_clocks: {
    title: "Clocks held below their usual value",
    leadsTo: ["straggler"],
    runbook: "GpuClockStuck",
  },
  thermal_throttling: {
    title: "Clocks held down by heat",
    leadsTo: ["stuck_clocks", "straggler"],
    runbook: "GpuThermalThrottling",
  },
  straggler: { title: "Busy, but completes less work", leadsTo: [], runbook: "GpuStraggler" },
  memory_leak: {
    title: "The job's memory grows and never shrinks",
    leadsTo: ["memory_full"],
    runbook: "GpuMemoryFull",
  },
  memory_full: { title: "Memory is full", leadsTo: [], runbook: "GpuMemoryFull" },
  contention: {
    title: "Several jobs share the GPU",
    leadsTo: ["straggler"],
    runbook: "GpuBusy",
  },
  host_memory_pressure: {
    title: "The machine runs out of memory",
    leadsTo: ["straggler"],
    runbook: "GpuStraggler",
  },
  host_cpu_pressure: {
    title: "Processes wait for the machine's processors",
    leadsTo: ["straggler"],
    runbook: "GpuStraggler",
  },
  idle_held: {
    title: "A job holds the GPU and leaves it idle",
    leadsTo: [],
    runbook: "GpuMemoryHeldIdle",
  },
  job_ended: { title: "The job ended", leadsTo: [], runbook: "GpuIdle" },
};
