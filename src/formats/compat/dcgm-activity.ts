/** dcgm-exporter's names of profiling metrics that NVML's GPM provides: activity of units and engines, NVLink and C2C rates. */
import { gpu, type MetricEntry } from "../../model/catalogue/index.ts";
import type { CompatRow, Match } from "./row.ts";

/** A GPM ratio, also available per MIG instance. */
const active = (name: string, help: string, from: MetricEntry, match?: Match): CompatRow => ({
  name: `DCGM_FI_PROF_${name}`,
  kind: "gauge",
  unit: "ratio",
  help,
  from,
  ...(match === undefined ? {} : { match }),
});

export const activityRows: readonly CompatRow[] = [
  {
    name: "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
    kind: "gauge",
    unit: "ratio",
    help: "Share of time in which the graphics or compute engine was active.",
    from: gpu.graphicsActivity,
    otherwise: [{ from: gpu.utilization }],
    note: "From the utilisation counter on cards without GPM.",
  },
  active("SM_ACTIVE", "Share of the SMs that had work.", gpu.smActivity),
  active("SM_OCCUPANCY", "Resident warps over the most that fit.", gpu.smOccupancy),
  active(
    "PIPE_TENSOR_ACTIVE",
    "Share of cycles in which the tensor cores were active.",
    gpu.tensorActivity,
  ),
  active(
    "PIPE_TENSOR_DFMA_ACTIVE",
    "Share of cycles in which the tensor cores worked in FP64.",
    gpu.tensorPipeActivity,
    { pipe: "fp64" },
  ),
  active(
    "PIPE_TENSOR_HMMA_ACTIVE",
    "Share of cycles in which the tensor cores worked in FP16, BF16, TF32 or FP8.",
    gpu.tensorPipeActivity,
    { pipe: "half" },
  ),
  active(
    "PIPE_TENSOR_IMMA_ACTIVE",
    "Share of cycles in which the tensor cores worked in INT8.",
    gpu.tensorPipeActivity,
    { pipe: "int8" },
  ),
  active(
    "DRAM_ACTIVE",
    "Share of cycles in which the memory interface moved data.",
    gpu.dramActivity,
  ),
  active(
    "PIPE_FP64_ACTIVE",
    "Share of cycles in which the FP64 units were active.",
    gpu.fp64Activity,
  ),
  active(
    "PIPE_FP32_ACTIVE",
    "Share of cycles in which the FP32 units were active.",
    gpu.fp32Activity,
  ),
  active(
    "PIPE_FP16_ACTIVE",
    "Share of cycles in which the FP16 units were active.",
    gpu.fp16Activity,
  ),
  active(
    "PIPE_INT_ACTIVE",
    "Share of cycles in which the integer units were active.",
    gpu.integerActivity,
  ),
  ...Array.from({ length: 8 }, (_, engine) => [
    active(
      `NVDEC${engine}_ACTIVE`,
      `Share of time in which video decoder ${engine} was active.`,
      gpu.decoderEngineActivity,
      { engine: String(engine) },
    ),
    active(
      `NVJPG${engine}_ACTIVE`,
      `Share of time in which JPEG decoder ${engine} was active.`,
      gpu.jpegEngineActivity,
      { engine: String(engine) },
    ),
  ]).flat(),
  ...[0, 1].map((engine) =>
    active(
      `NVOFA${engine}_ACTIVE`,
      `Share of time in which optical flow accelerator ${engine} was active.`,
      gpu.ofaEngineActivity,
      { engine: String(engine) },
    ),
  ),
  ...(
    [
      ["TX", "transmit", "from"],
      ["RX", "receive", "to"],
    ] as const
  ).flatMap(([theirs, direction, word]): CompatRow[] => [
    {
      name: `DCGM_FI_PROF_NVLINK_${theirs}_BYTES`,
      kind: "gauge",
      unit: "B/s",
      help: `NVLink traffic ${word} the GPU over all links in bytes per second.`,
      from: gpu.interconnectThroughput,
      match: { direction },
    },
    {
      name: `DCGM_FI_PROF_C2C_${theirs}_ALL_BYTES`,
      kind: "gauge",
      unit: "B/s",
      help: `NVLink-C2C traffic ${word} the GPU in bytes per second.`,
      from: gpu.c2cThroughput,
      match: { direction },
    },
  ]),
];
