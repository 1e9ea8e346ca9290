/**
 * Peak rates by GPU model: the only table behind the estimates of FLOP/s and bytes/s, and behind model FLOP utilisation. Unlisted
 * models have no estimate. Rates are dense (without structured sparsity), in FLOP per cycle and compute unit; a multiply-add counts
 * as two. For every model, rate × units × clock matches the data sheet's peak to within 1 %.
 */

/** The precisions with a known rate. `fp32` and `fp64` run on the ordinary units, `fp64_tensor` on the matrix units. */
const precisions = ["fp64", "fp32", "fp64_tensor", "tf32", "bf16", "fp16", "fp8", "int8"] as const;
export type Precision = (typeof precisions)[number];

/** FP16, BF16, TF32 and FP8 share a pipe with one counter: an estimate has to assume one of them. */
export const assumablePrecisions = ["bf16", "fp16", "tf32", "fp8"] as const;
export type AssumedPrecision = (typeof assumablePrecisions)[number];

export interface ArchitectureRates {
  readonly name: string;
  /** FLOP per cycle and compute unit, dense. */
  readonly flopPerCycle: Readonly<Partial<Record<Precision, number>>>;
  /**
   * Measured ratio of counted to computed FLOP/s while a unit is active. Absent if it has not been measured: then there is no
   * estimate. The tensor pipe counts as active in some of the cycles in which it waits for operands.
   */
  readonly calibration?: {
    readonly tensor: number;
    readonly ordinary: number;
    readonly dram: number;
    readonly source: string;
  };
  readonly source: string;
}

export interface GpuRates {
  readonly architecture: ArchitectureRates;
  /** SMs, or CUs on AMD. */
  readonly units: number;
  readonly boostHertz: number;
  /** The clock of the data sheet's matrix rates, if lower than boost. */
  readonly matrixHertz: number;
  readonly memoryBytesPerSecond: number;
  readonly source: string;
}

const hopper: ArchitectureRates = {
  name: "Hopper",
  flopPerCycle: {
    fp64: 128,
    fp32: 256,
    fp64_tensor: 256,
    tf32: 2_048,
    bf16: 4_096,
    fp16: 4_096,
    fp8: 8_192,
    int8: 8_192,
  },
  calibration: {
    tensor: 0.915,
    ordinary: 1,
    dram: 1.004,
    source:
      "one H200, driver 580, products of 8192 by 8192 with the mean clock: bf16 0.893, fp16 0.894, tf32 0.907, fp8 0.914 of the computed rate, bf16 in bursts of 14, 70 and 311 ms 0.904, 0.945 and 0.937; fp32 and fp64 1.000; copies 1.004",
  },
  source:
    "NVIDIA H100 architecture white paper, table of SM rates; checked by counted FLOP/s on an H200",
};

const ampere: ArchitectureRates = {
  name: "Ampere GA100",
  flopPerCycle: {
    fp64: 64,
    fp32: 128,
    fp64_tensor: 128,
    tf32: 1_024,
    bf16: 2_048,
    fp16: 2_048,
    int8: 4_096,
  },
  source: "NVIDIA A100 architecture white paper",
};

const ada: ArchitectureRates = {
  name: "Ada",
  flopPerCycle: { fp32: 256, tf32: 512, bf16: 1_024, fp16: 1_024, fp8: 2_048, int8: 2_048 },
  source: "NVIDIA L4 data sheet and Ada architecture white paper",
};

/** The same units as Ada, but products with an FP32 accumulator run at half the rate. */
const adaGeForce: ArchitectureRates = {
  name: "Ada GeForce",
  flopPerCycle: { fp32: 256, tf32: 256, bf16: 512, fp16: 512, fp8: 1_024, int8: 2_048 },
  source: "NVIDIA Ada architecture white paper, rates with FP32 accumulation",
};

const turing: ArchitectureRates = {
  name: "Turing",
  flopPerCycle: { fp32: 128, fp16: 1_024, int8: 2_048 },
  source: "NVIDIA T4 data sheet",
};

const cdna3: ArchitectureRates = {
  name: "CDNA 3",
  flopPerCycle: {
    fp64: 128,
    fp32: 256,
    fp64_tensor: 256,
    tf32: 1_024,
    bf16: 2_048,
    fp16: 2_048,
    fp8: 4_096,
    int8: 4_096,
  },
  source: "AMD CDNA 3 white paper, peak operations per clock and CU",
};

const gpu = (
  architecture: ArchitectureRates,
  units: number,
  boostMegahertz: number,
  memoryGigabytesPerSecond: number,
  source: string,
  matrixMegahertz = boostMegahertz,
): GpuRates => ({
  architecture,
  units,
  boostHertz: boostMegahertz * 1e6,
  matrixHertz: matrixMegahertz * 1e6,
  memoryBytesPerSecond: memoryGigabytesPerSecond * 1e9,
  source,
});

/** Keyed by the model name that the driver reports. */
const models: Readonly<Record<string, GpuRates>> = {
  "NVIDIA H200": gpu(
    hopper,
    132,
    1_980,
    4_800,
    "H200 SXM data sheet; 132 SMs counted on a card",
    1_830,
  ),
  "NVIDIA H100 80GB HBM3": gpu(hopper, 132, 1_980, 3_350, "H100 SXM data sheet", 1_830),
  "NVIDIA H100 PCIe": gpu(hopper, 114, 1_755, 2_039, "H100 PCIe product brief", 1_620),
  "NVIDIA A100-SXM4-80GB": gpu(ampere, 108, 1_410, 2_039, "A100 data sheet"),
  "NVIDIA A100-SXM4-40GB": gpu(ampere, 108, 1_410, 1_555, "A100 data sheet"),
  "NVIDIA A100 80GB PCIe": gpu(ampere, 108, 1_410, 1_935, "A100 data sheet"),
  "NVIDIA A100-PCIE-40GB": gpu(ampere, 108, 1_410, 1_555, "A100 data sheet"),
  "NVIDIA L4": gpu(ada, 58, 2_040, 300, "L4 data sheet"),
  "NVIDIA GeForce RTX 4090": gpu(adaGeForce, 128, 2_520, 1_008, "Ada architecture white paper"),
  "Tesla T4": gpu(turing, 40, 1_590, 320, "T4 data sheet"),
  "AMD Instinct MI300X": gpu(cdna3, 304, 2_100, 5_300, "MI300X data sheet"),
};

/** Returns undefined for a model that is not listed, such as a MIG instance: similar names are not matched. */
export function ratesOf(model: string): GpuRates | undefined {
  return Object.hasOwn(models, model) ? models[model] : undefined;
}

const isMatrix = (precision: Precision): boolean => precision !== "fp32" && precision !== "fp64";

/** Dense peak in FLOP/s at the clock; without a clock, at the one of the data sheet. */
export function peakFlops(
  rates: GpuRates,
  precision: Precision,
  clockHertz = isMatrix(precision) ? rates.matrixHertz : rates.boostHertz,
): number | undefined {
  const perCycle = rates.architecture.flopPerCycle[precision];
  return perCycle === undefined ? undefined : perCycle * rates.units * clockHertz;
}

/** Estimates FLOP/s from the share of cycles in which a pipe was active and from its clock. */
export function estimateFlops(
  rates: GpuRates,
  precision: Precision,
  activeRatio: number,
  clockHertz: number,
): number | undefined {
  const { calibration } = rates.architecture;
  const peak = peakFlops(rates, precision, clockHertz);
  if (calibration === undefined || peak === undefined) return undefined;
  const isOrdinary = !isMatrix(precision) || precision === "fp64_tensor";
  return activeRatio * peak * (isOrdinary ? calibration.ordinary : calibration.tensor);
}

/** Estimates bytes/s from the share of cycles in which the memory interface was active. */
export function estimateDramBytes(rates: GpuRates, activeRatio: number): number | undefined {
  const { calibration } = rates.architecture;
  return calibration === undefined
    ? undefined
    : activeRatio * rates.memoryBytesPerSecond * calibration.dram;
}
