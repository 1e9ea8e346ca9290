/** What parts of a GPU were at work, beyond its overall utilization. */
import { device } from "./device.ts";
import type { LabelSpec } from "./entry.ts";

/** NVML's GPM: no profiling permission, and profilers such as ncu work beside it. */
const gpm = "NVML GPM, Hopper and newer";
const datacentre = "datacentre nvidia models";
const engineNumber: LabelSpec = { name: "engine", help: "Number of the engine, from 0." };

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
  graphicsActivity: device("gpu_graphics_activity_ratio", {
    help: "Share of time in which the graphics and compute engine had any work. One spinning thread block is enough for 1: see gpu_sm_activity_ratio.",
    tier: "slow",
    given: { nvidia: `${gpm}, id 1`, sim: datacentre },
  }),
  smActivity: device("gpu_sm_activity_ratio", {
    help: "Share of the compute units that had work, averaged over time.",
    tier: "slow",
    given: { nvidia: `${gpm}, id 2`, sim: datacentre },
  }),
  smOccupancy: device("gpu_sm_occupancy_ratio", {
    help: "Warps resident on the compute units over the most that fit. Low is not bad by itself: large matrix products run at full speed with 0.14.",
    tier: "slow",
    given: { nvidia: `${gpm}, id 3`, sim: datacentre },
  }),
  tensorActivity: device("gpu_tensor_activity_ratio", {
    help: "Share of cycles in which the matrix units were active.",
    tier: "slow",
    given: { nvidia: `${gpm}, id 5`, sim: datacentre },
  }),
  tensorPipeActivity: device("gpu_tensor_pipe_activity_ratio", {
    help: "Share of cycles in which the matrix units worked on numbers of this kind. `half` is FP16, BF16, TF32 and FP8 together: the hardware does not separate them.",
    tier: "slow",
    labels: [{ name: "pipe", help: "Kind of numbers.", values: ["fp64", "half", "int8"] }],
    given: { nvidia: `${gpm}, ids 6, 7 and 9`, sim: datacentre },
  }),
  dramActivity: device("gpu_dram_activity_ratio", {
    help: "Share of cycles in which the memory interface moved data.",
    tier: "slow",
    given: { nvidia: `${gpm}, id 10`, sim: datacentre },
  }),
  fp64Activity: device("gpu_fp64_activity_ratio", {
    help: "Share of cycles in which the FP64 units were active, without the matrix units.",
    tier: "slow",
    given: { nvidia: `${gpm}, id 11`, sim: datacentre },
  }),
  fp32Activity: device("gpu_fp32_activity_ratio", {
    help: "Share of cycles in which the FP32 units were active.",
    tier: "slow",
    given: { nvidia: `${gpm}, id 12`, sim: datacentre },
  }),
  fp16Activity: device("gpu_fp16_activity_ratio", {
    help: "Share of cycles in which the FP16 units were active, without the matrix units.",
    tier: "slow",
    given: { nvidia: `${gpm}, id 13`, sim: datacentre },
  }),
  integerActivity: device("gpu_integer_activity_ratio", {
    help: "Share of cycles in which the integer units were active.",
    tier: "slow",
    given: { nvidia: `${gpm}, id 4`, sim: datacentre },
  }),
  decoderEngineActivity: device("gpu_decoder_engine_activity_ratio", {
    help: "Share of time in which this video decoder was active.",
    tier: "slow",
    labels: [engineNumber],
    given: { nvidia: `${gpm}, ids 30 to 37` },
  }),
  jpegEngineActivity: device("gpu_jpeg_engine_activity_ratio", {
    help: "Share of time in which this JPEG decoder was active.",
    tier: "slow",
    labels: [engineNumber],
    given: { nvidia: `${gpm}, ids 40 to 47` },
  }),
  ofaEngineActivity: device("gpu_ofa_engine_activity_ratio", {
    help: "Share of time in which this optical flow accelerator was active.",
    tier: "slow",
    labels: [engineNumber],
    given: { nvidia: `${gpm}, ids 50 and 51` },
  }),
} as const;
