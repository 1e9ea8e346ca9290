/** The names dcgm-exporter 1.x had, and 2.x and later give with --use-old-namespace: the same rows, renamed. */
import { simulatedLabel } from "./convert.ts";
import { dcgm } from "./dcgm.ts";
import type { CompatTable } from "./row.ts";

const oldNames: Readonly<Record<string, string>> = {
  DCGM_FI_DEV_SM_CLOCK: "dcgm_sm_clock",
  DCGM_FI_DEV_MEM_CLOCK: "dcgm_memory_clock",
  DCGM_FI_DEV_MEMORY_TEMP: "dcgm_memory_temp",
  DCGM_FI_DEV_GPU_TEMP: "dcgm_gpu_temp",
  DCGM_FI_DEV_POWER_USAGE: "dcgm_power_usage",
  DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION: "dcgm_total_energy_consumption",
  DCGM_FI_DEV_PCIE_REPLAY_COUNTER: "dcgm_pcie_replay_counter",
  DCGM_FI_DEV_GPU_UTIL: "dcgm_gpu_utilization",
  DCGM_FI_DEV_MEM_COPY_UTIL: "dcgm_mem_copy_utilization",
  DCGM_FI_DEV_ENC_UTIL: "dcgm_enc_utilization",
  DCGM_FI_DEV_DEC_UTIL: "dcgm_dec_utilization",
  DCGM_FI_DEV_XID_ERRORS: "dcgm_xid_errors",
  DCGM_FI_DEV_FB_FREE: "dcgm_fb_free",
  DCGM_FI_DEV_FB_USED: "dcgm_fb_used",
  DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL: "dcgm_nvlink_bandwidth_total",
};

function oldName(name: string): string | undefined {
  return oldNames[name] ?? (name.startsWith("DCGM_FI_PROF_") ? name.toLowerCase() : undefined);
}

export const dcgmOld: CompatTable = {
  name: "dcgm-old",
  exporter: "dcgm-exporter 1.x",
  vendor: "nvidia",
  labels: ({ device, host, owner }) => ({
    gpu: String(device.index),
    uuid: device.uuid,
    device: `nvidia${device.index}`,
    modelName: device.model,
    Hostname: host,
    container_name: owner.container,
    pod_namespace: owner.namespace,
    pod_name: owner.pod,
    simulated: simulatedLabel(device),
  }),
  hostLabels: ({ device, host }) => ({ Hostname: host, simulated: simulatedLabel(device) }),
  rows: dcgm.rows.flatMap((row) => {
    const name = oldName(row.name);
    return name === undefined ? [] : [{ ...row, name }];
  }),
  leftOut: [],
};
