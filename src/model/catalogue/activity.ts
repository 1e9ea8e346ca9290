/** Activity of the parts of a GPU, beyond its overall utilization. */
import { boundWords } from "../bound.ts";
import { assumablePrecisions } from "../gpu-rates.ts";
import { device, yesNo } from "./device.ts";
import type { LabelSpec } from "./entry.ts";

/** GPM (NVML's GPU performance monitoring) needs no profiling permission and works while a profiler such as ncu runs. */
const gpm = "NVML GPM, Hopper and newer";
const datacentre = "datacentre nvidia models";
const engineNumber: LabelSpec = { name: "engine", help: "Index of the engine, from 0." };

export const activity = {
  work: device("gpu_work_units_total", {
    help: "Work done by a simulated GPU under the simulator's loads `stress` and `work`. One unit is the work of an H200 at boost in a millisecond; no real GPU reports such a counter.",
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
    help: "Share of time in which an engine was busy, summed over the programs visible to this user.",
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
  dieActivity: device("gpu_compute_die_activity_ratio", {
    help: "Share of time in which a compute die of the GPU had any work. Where the GPU is partitioned, the dies of the first partition come first.",
    tier: "slow",
    resolution: 0.01,
    labels: [{ name: "die", help: "Number of the die, from 0." }],
    given: { amd: "gpu_metrics 1.6 and newer (MI300 and newer), gfx_busy_inst" },
  }),
  smOccupancy: device("gpu_sm_occupancy_ratio", {
    help: "Warps resident on the compute units as a share of the maximum. A low value is not bad by itself: large matrix products run at full speed at 0.14.",
    tier: "slow",
    given: { nvidia: `${gpm}, id 3`, sim: datacentre },
  }),
  tensorActivity: device("gpu_tensor_activity_ratio", {
    help: "Share of cycles in which the matrix units were active.",
    tier: "slow",
    given: { nvidia: `${gpm}, id 5`, sim: datacentre },
  }),
  tensorPipeActivity: device("gpu_tensor_pipe_activity_ratio", {
    help: "Share of cycles in which the matrix units worked in this number format. `half` is FP16, BF16, TF32 and FP8 together: the hardware does not separate them.",
    tier: "slow",
    labels: [{ name: "pipe", help: "Number format.", values: ["fp64", "half", "int8"] }],
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
  tensorFlopsEstimate: device("gpu_tensor_flops_estimate", {
    help: "FLOP/s of the matrix units, estimated from their activity, the clock and the dense rate of the model. FP16, BF16, TF32 and FP8 share one counter: the label has the one assumed; with the same activity TF32 is half and FP8 twice of BF16. Absent on models without a calibrated rate.",
    tier: "slow",
    resolution: 1e9,
    plausible: [0, 1e17],
    labels: [
      {
        name: "precision",
        help: "Number format; bf16, fp16, tf32 and fp8 are assumptions (--tensor-precision).",
        values: ["fp64", ...assumablePrecisions],
      },
    ],
    given: { nvidia: "derived, Hopper", sim: "derived" },
  }),
  fp32FlopsEstimate: device("gpu_fp32_flops_estimate", {
    help: "FLOP/s of the FP32 units, estimated from their activity, the clock and the rate of the model.",
    tier: "slow",
    resolution: 1e9,
    plausible: [0, 1e17],
    given: { nvidia: "derived, Hopper", sim: "derived" },
  }),
  fp64FlopsEstimate: device("gpu_fp64_flops_estimate", {
    help: "FLOP/s of the FP64 units without the matrix units, estimated from their activity, the clock and the rate of the model.",
    tier: "slow",
    resolution: 1e9,
    plausible: [0, 1e17],
    given: { nvidia: "derived, Hopper", sim: "derived" },
  }),
  dramBytesEstimate: device("gpu_dram_bytes_per_second_estimate", {
    help: "Bytes per second to and from device memory, estimated from its activity and the bandwidth of the model.",
    tier: "slow",
    resolution: 1e6,
    plausible: [0, 1e14],
    given: { nvidia: "derived, Hopper", sim: "derived" },
  }),
  bound: yesNo("gpu_bound", {
    help: "What limited the GPU's work over the last minute: 1 for the current limit, 0 for others seen so far. Exactly one is 1, so sum by (by) counts GPUs. Absent if the device does not report enough to decide.",
    tier: "slow",
    labels: [{ name: "by", help: "The limit.", values: boundWords }],
    given: {
      nvidia: "derived from GPM, or from utilisation and throttling",
      amd: "derived from activity and throttling; compute units are not distinguished",
      intel: "derived from engine busyness and throttling; units are not distinguished",
      sim: "derived",
    },
  }),
} as const;
