/** Memory beyond the device's own pool, and the reserved part of that pool. */
import { device } from "./device.ts";

export const memory = {
  memoryReserved: device("gpu_memory_reserved_bytes", {
    help: "Device memory reserved by the driver; neither used nor free.",
    tier: "slow",
    given: { nvidia: "nvmlDeviceGetMemoryInfo_v2" },
  }),
  visibleMemoryUsed: device("gpu_memory_visible_used_bytes", {
    help: "Used part of the device memory that is visible to the processor (BAR).",
    given: { nvidia: "nvmlDeviceGetBAR1MemoryInfo", amd: "mem_info_vis_vram_used" },
  }),
  visibleMemoryTotal: device("gpu_memory_visible_total_bytes", {
    help: "Device memory visible to the processor (BAR).",
    tier: "static",
    given: { nvidia: "nvmlDeviceGetBAR1MemoryInfo", amd: "mem_info_vis_vram_total" },
  }),
  sharedMemoryUsed: device("gpu_memory_shared_used_bytes", {
    help: "System memory mapped by the GPU; on an APU this is its main memory.",
    given: {
      amd: "mem_info_gtt_used",
      intel: "fdinfo drm-resident-system*, of the programs this user may see",
      gpuz: "Memory Used (Dynamic)",
    },
  }),
  sharedMemoryTotal: device("gpu_memory_shared_total_bytes", {
    help: "System memory that the GPU can map.",
    tier: "static",
    given: { amd: "mem_info_gtt_total" },
  }),
} as const;
