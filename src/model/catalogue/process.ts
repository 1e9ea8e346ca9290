/** Processes on a GPU. Off by default, and limited to the largest processes, because every process is a new series. */
import { device } from "./device.ts";
import type { LabelSpec } from "./entry.ts";

const owner: readonly LabelSpec[] = [
  { name: "namespace", help: "Kubernetes namespace." },
  { name: "pod", help: "Kubernetes pod." },
  { name: "container", help: "Container name or id." },
  {
    name: "workload",
    help: "Slurm job, or job:, wandb: or mlflow: and a name from GPULSE_JOB, WANDB_RUN_ID or MLFLOW_RUN_ID, or unit: and systemd's service.",
  },
  { name: "user", help: "User who started it." },
];
const labels: readonly LabelSpec[] = [
  { name: "pid", help: "Process id on the host." },
  { name: "process", help: "Program name." },
  { name: "kind", help: "What it uses the GPU for.", values: ["compute", "graphics", "both"] },
  { name: "container", help: "Container id or name, from the process's cgroup." },
  { name: "pod", help: "Kubernetes pod, from the kubelet or the cgroup." },
  { name: "namespace", help: "Kubernetes namespace." },
  { name: "workload", help: "Slurm job, from cgroup or environment." },
];

export const process = {
  processes: device("gpu_processes", {
    help: "Processes that use the GPU.",
    tier: "slow",
    resolution: 1,
    given: { nvidia: "nvmlDeviceGetComputeRunningProcesses_v3", amd: "fdinfo", intel: "fdinfo" },
  }),
  processInfo: device("gpu_process_info", {
    help: "A process that uses the GPU; the value is always 1. Present even if neither its memory nor its share is known, for example on Windows.",
    tier: "slow",
    labels,
    given: {
      nvidia: "nvmlDeviceGetComputeRunningProcesses_v3",
      amd: "fdinfo",
      intel: "fdinfo",
    },
  }),
  processMemory: device("gpu_process_memory_bytes", {
    help: "Device memory used by a process.",
    tier: "slow",
    labels,
    given: {
      nvidia: "nvmlDeviceGetComputeRunningProcesses_v3",
      amd: "fdinfo drm-memory-vram",
      intel: "fdinfo drm-total-*",
    },
  }),
  processUtilization: device("gpu_process_utilization_ratio", {
    help: "Share of the GPU's time used by a process.",
    tier: "slow",
    labels,
    given: {
      nvidia: "nvmlDeviceGetProcessUtilization",
      amd: "fdinfo drm-engine-*",
      intel: "fdinfo drm-engine-*",
    },
  }),
  ownerMemory: device("gpu_owner_memory_bytes", {
    help: "Device memory used by the processes of one owner, so that pods that share a GPU do not all show its total.",
    tier: "slow",
    labels: owner,
    given: { nvidia: "sum over its processes", amd: "sum over its processes" },
  }),
  ownerUtilization: device("gpu_owner_utilization_ratio", {
    help: "Share of the GPU's time used by the processes of one owner.",
    tier: "slow",
    labels: owner,
    given: { nvidia: "sum over its processes", amd: "sum over its processes" },
  }),
} as const;
