/** Links between GPUs. NVLink and XGMI share the metric names, because dashboards ask the same questions about both. */
import { device, direction, link, yesNo } from "./device.ts";

export const interconnect = {
  interconnectUp: yesNo("gpu_interconnect_up", {
    help: "1 while the link to another GPU or switch is up.",
    tier: "slow",
    labels: [link],
    given: { nvidia: "nvmlDeviceGetNvLinkState", amd: "gpu_metrics xgmi_link_status" },
  }),
  interconnectBandwidth: device("gpu_interconnect_bandwidth_bytes_per_second", {
    help: "Trained rate of the link in one direction, as reported by the driver; not measured.",
    tier: "slow",
    labels: [link],
    given: { nvidia: "NVML field 164, MB/s" },
  }),
  interconnectBytes: device("gpu_interconnect_bytes_total", {
    help: "Payload over the links to other GPUs; link is all if the device counts them together.",
    tier: "slow",
    labels: [link, direction],
    given: { nvidia: "NVML fields 138 and 139, KiB", amd: "gpu_metrics xgmi data, KiB" },
  }),
  interconnectThroughput: device("gpu_interconnect_throughput_bytes_per_second", {
    help: "Traffic over all links to other GPUs, including protocol overhead.",
    tier: "slow",
    labels: [direction],
    given: { nvidia: "NVML GPM, ids 60 and 61" },
  }),
  interconnectLinkThroughput: device("gpu_interconnect_link_throughput_bytes_per_second", {
    help: "Traffic over one link to another GPU, including protocol overhead.",
    tier: "slow",
    labels: [link, direction],
    given: { nvidia: "NVML GPM, ids 62 to 97" },
  }),
  c2cThroughput: device("gpu_c2c_throughput_bytes_per_second", {
    help: "Traffic between GPU and processor over NVLink-C2C, for example on Grace Hopper.",
    tier: "slow",
    labels: [direction],
    given: { nvidia: "NVML GPM, ids 100 and 101" },
  }),
  interconnectErrors: device("gpu_interconnect_errors_total", {
    help: "Errors on the links to other GPUs.",
    tier: "slow",
    labels: [
      link,
      {
        name: "type",
        help: "Which counter.",
        values: ["replay", "recovery", "crc_flit", "crc_data"],
      },
    ],
    given: { nvidia: "nvmlDeviceGetNvLinkErrorCounter" },
  }),
} as const;
