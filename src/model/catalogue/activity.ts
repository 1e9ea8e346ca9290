/** What parts of a GPU were at work, beyond its overall utilization. */
import { device } from "./device.ts";

export const activity = {
  work: device("gpu_work_units_total", {
    help: "Work a simulated GPU got done under the simulator's loads `stress` and `work`. One unit is what an H200 at boost does in a millisecond; no real GPU reports such a counter.",
    kind: "counter",
    resolution: 0.001,
    given: { sim: "the model's speed, times its clock over boost, times the time it was busy" },
  }),
  videoUtilization: device("gpu_video_utilization_ratio", {
    help: "Share of time in which the video engine was busy, on devices that do not separate encoding and decoding.",
    resolution: 0.01,
    given: { amd: "vcn_busy_percent, or gpu_metrics video activity" },
  }),
  jpegUtilization: device("gpu_jpeg_utilization_ratio", {
    help: "Share of time in which the JPEG engine was busy.",
    resolution: 0.01,
    given: { nvidia: "nvmlDeviceGetJpgUtilization" },
  }),
  ofaUtilization: device("gpu_ofa_utilization_ratio", {
    help: "Share of time in which the optical flow accelerator was busy.",
    resolution: 0.01,
    given: { nvidia: "nvmlDeviceGetOfaUtilization" },
  }),
  awake: device("gpu_awake_ratio", {
    help: "Share of time in which the graphics part was out of its deepest idle state; it is never busy for longer than this.",
    given: { intel: "1 less rc6_residency_ms or gtidle/idle_residency_ms" },
  }),
  engineUtilization: device("gpu_engine_utilization_ratio", {
    help: "Share of time in which an engine was busy, summed over the programs this user may see.",
    tier: "slow",
    labels: [
      {
        name: "engine",
        help: "Which engine.",
        values: ["render", "compute", "copy", "video", "video-enhance"],
      },
    ],
    given: { intel: "fdinfo drm-engine-*, drm-cycles-*" },
  }),
  smActivity: device("gpu_sm_activity_ratio", {
    help: "Share of the compute units that had work, averaged over time.",
    tier: "slow",
    given: { nvidia: "NVML GPM, Hopper and newer", sim: "datacentre nvidia models" },
  }),
  tensorActivity: device("gpu_tensor_activity_ratio", {
    help: "Share of cycles in which the matrix units were active.",
    tier: "slow",
    given: { nvidia: "NVML GPM, Hopper and newer", sim: "datacentre nvidia models" },
  }),
  dramActivity: device("gpu_dram_activity_ratio", {
    help: "Share of cycles in which the memory interface moved data.",
    tier: "slow",
    given: { nvidia: "NVML GPM, Hopper and newer", sim: "datacentre nvidia models" },
  }),
} as const;
