/** Kinds of work as physical intensities, and their names. Constants only; duration and schedule are up to the workload. */

/** How work is distributed over time if nothing more precise is known. */
export type ActivityPattern =
  | { readonly kind: "steady"; readonly busy: number }
  | {
      readonly kind: "cycle";
      readonly onMs: number;
      readonly offMs: number;
      readonly busy: number;
    };

/** Shares of the compute units while a kernel runs, as counted by NVML's GPM. */
export interface UnitActivity {
  /** 0 if only copy engines work. */
  readonly graphics: number;
  readonly sm: number;
  readonly occupancy: number;
  readonly integer: number;
  readonly fp64: number;
  readonly fp32: number;
  /** The pipe of the matrix units that the kernel uses. */
  readonly tensorPipe: "half" | "fp64";
}

export interface Kernel {
  /** Compute power at boost relative to a large bf16 matrix product. */
  readonly core: number;
  /** Share of the memory bandwidth. */
  readonly dram: number;
  /** The reading of the memory controller's time counter. */
  readonly memoryBusy: number;
  /** Share of cycles with the matrix units active. */
  readonly tensor: number;
  readonly receive: number;
  readonly transmit: number;
  readonly pattern: ActivityPattern;
  readonly units: UnitActivity;
}

const steady = (busy: number): ActivityPattern => ({ kind: "steady", busy });
const cycle = (onMs: number, offMs: number, busy = 0.98): ActivityPattern => ({
  kind: "cycle",
  onMs,
  offMs,
  busy,
});

const kernel = (
  core: number,
  dram: number,
  memoryBusy: number,
  tensor: number,
  pattern: ActivityPattern = steady(0.98),
  receive = 0,
  transmit = 0,
): Kernel => ({
  core,
  dram,
  memoryBusy,
  tensor,
  pattern,
  receive,
  transmit,
  units: largeProduct,
});

/** While a kernel runs, not every unit has work: 95 % in large products. */
const largeProduct: UnitActivity = {
  graphics: 1,
  sm: 0.95,
  occupancy: 0.14,
  integer: 0.013,
  fp64: 0,
  fp32: 0,
  tensorPipe: "half",
};

const using = (kernelOf: Kernel, units: Partial<UnitActivity>): Kernel => ({
  ...kernelOf,
  units: { ...largeProduct, ...units },
});

/** Measured on an H200; bandwidth and activity by NVML's GPM counters. */
export const kernels = {
  idle: using(kernel(0, 0, 0, 0, steady(0)), { graphics: 0, sm: 0, occupancy: 0, integer: 0 }),
  matmul_bf16: kernel(1, 0.17, 0.25, 0.9),
  matmul_fp16: kernel(1.07, 0.17, 0.24, 0.91),
  matmul_tf32: using(kernel(0.99, 0.18, 0.24, 0.9), { occupancy: 0.18, integer: 0.1 }),
  matmul_fp32: using(kernel(0.68, 0.05, 0.06, 0), { occupancy: 0.12, integer: 0.057, fp32: 0.77 }),
  matmul_fp64: using(kernel(0.8, 0.11, 0.16, 0.96), {
    sm: 0.98,
    occupancy: 0.12,
    integer: 0.064,
    tensorPipe: "fp64",
  }),
  matmul_fp8: using(kernel(1.14, 0.16, 0.24, 0.88), { sm: 0.97, integer: 0.04, fp32: 0.23 }),
  matmul_small: using(kernel(0.064, 0, 0, 0.01, steady(0.32)), {
    sm: 0.02,
    occupancy: 0.001,
    integer: 0.001,
  }),
  memcopy: using(kernel(0.16, 0.88, 1, 0, steady(0.99)), {
    sm: 0.99,
    occupancy: 0.8,
    integer: 0.08,
  }),
  elementwise: using(kernel(0.14, 0.9, 1, 0, steady(0.99)), {
    sm: 0.99,
    occupancy: 0.64,
    integer: 0.05,
    fp32: 0.011,
  }),
  transfer: using(kernel(0.002, 0.012, 0.02, 0, steady(0.99), 0.9, 0.05), {
    graphics: 0,
    sm: 0,
    occupancy: 0,
    integer: 0,
  }),
  conv: using(kernel(0.855, 0.18, 0.24, 0.57, steady(0.95)), {
    occupancy: 0.25,
    integer: 0.08,
    fp32: 0.05,
  }),
  train: using(kernel(0.71, 0.32, 0.42, 0.55, cycle(6_000, 850)), {
    sm: 0.92,
    occupancy: 0.3,
    integer: 0.06,
    fp32: 0.08,
  }),
  train_fp32: using(kernel(0.625, 0.12, 0.16, 0.04, cycle(6_600, 850)), {
    sm: 0.94,
    occupancy: 0.25,
    integer: 0.07,
    fp32: 0.62,
  }),
  /** Matrix times vector, as in decoding one token at a time: the weights are streamed from memory. */
  decode: using(kernel(0.08, 0.9, 1, 0.03, steady(0.97)), { sm: 0.88, occupancy: 0.12 }),
  infer_light: using(kernel(0.43, 0.3, 0.35, 0.2, steady(0.055)), {
    sm: 0.6,
    occupancy: 0.2,
    integer: 0.05,
    fp32: 0.05,
  }),
  infer_medium: using(kernel(0.85, 0.2, 0.25, 0.6, steady(0.2)), {
    sm: 0.85,
    occupancy: 0.2,
    integer: 0.05,
    fp32: 0.05,
  }),
  infer_heavy: kernel(0.95, 0.2, 0.26, 0.8),
  infer_bursty: kernel(0.97, 0.2, 0.26, 0.8, cycle(1_000, 2_000)),
  stress: kernel(1.05, 0.25, 0.3, 0.85, steady(1)),
  /** Work of unknown kind: between a training step and an inference. */
  generic: using(kernel(0.7, 0.2, 0.3, 0.4), { occupancy: 0.3, integer: 0.1, fp32: 0.15 }),
} as const satisfies Record<string, Kernel>;

export type KernelName = keyof typeof kernels;

const formats: Readonly<Record<string, string>> = {
  bf16: "bf16",
  bfloat16: "bf16",
  fp16: "fp16",
  f16: "fp16",
  half: "fp16",
  tf32: "tf32",
  fp32: "fp32",
  f32: "fp32",
  float32: "fp32",
  single: "fp32",
  fp64: "fp64",
  f64: "fp64",
  double: "fp64",
  float64: "fp64",
  fp8: "fp8",
  f8: "fp8",
  int8: "fp8",
  e4m3: "fp8",
};

const families: readonly (readonly [pattern: RegExp, family: string])[] = [
  [/^(idle|rest|pause|sleep|wait|cool|cooldown|none|context|nothing)$/, "idle"],
  [/^(matmul|gemm|mm|bmm|product|dgemm|sgemm|hgemm|tensor)$/, "matmul"],
  [/^(memcopy|memcpy|copy|d2d|membw|bandwidth|stream|hbm)$/, "memcopy"],
  [/^(h2d|d2h|upload|download|transfer|pcie)$/, "transfer"],
  [/^(elementwise|pointwise|add|axpy|triad|vector|relu|memory)$/, "elementwise"],
  [/^(conv|conv2d|convolution|cnn|resnet)$/, "conv"],
  [/^(train|training|finetune|finetuning|pretrain)$/, "train"],
  [/^(infer|inference|inferring|serve|serving|generate|llm|prefill)$/, "infer"],
  [/^(decode|decoding|gemv|matvec|spmv)$/, "decode"],
  [/^(stress|burn|gpuburn|burnin|full|peak|max)$/, "stress"],
];

/** The kernel for a name such as `gemm-fp16` or `inference_light`; undefined if it contains nothing known. */
export function findKernelName(text: string): KernelName | undefined {
  const words = text
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "");
  const whole = words.join("_");
  if (isKernelName(whole)) return whole;
  let family: string | undefined;
  for (const word of words) family ??= families.find(([pattern]) => pattern.test(word))?.[1];
  const format = words.map((word) => formats[word]).find((found) => found !== undefined);
  const says = (...options: string[]): boolean => words.some((word) => options.includes(word));
  if (family === undefined) return format === undefined ? undefined : named(`matmul_${format}`);
  if (family === "matmul")
    return says("small", "tiny", "launch") ? "matmul_small" : named(`matmul_${format ?? "bf16"}`);
  if (family === "train") return format === "fp32" ? "train_fp32" : "train";
  if (family === "infer") {
    if (says("light", "low", "idle", "small")) return "infer_light";
    if (says("bursty", "burst", "bursts", "spiky")) return "infer_bursty";
    return says("heavy", "high", "full", "large", "prefill") ? "infer_heavy" : "infer_medium";
  }
  return named(family);
}

function named(name: string): KernelName | undefined {
  return isKernelName(name) ? name : undefined;
}

function isKernelName(name: string): name is KernelName {
  return Object.hasOwn(kernels, name);
}

/** The busy share of a pattern at an instant. */
export function busyAt(pattern: ActivityPattern, sinceStartMs: number): number {
  if (pattern.kind === "steady") return pattern.busy;
  return sinceStartMs % (pattern.onMs + pattern.offMs) < pattern.onMs ? pattern.busy : 0;
}

/**
 * Compute intensity over memory activity, along the kernels measured above: lowest if no data moves, highest for products whose
 * operands stream from memory a quarter of the time, low if memory is the bottleneck.
 */
const coreOverMemoryBusy: readonly (readonly [memoryBusy: number, core: number])[] = [
  [0, 0.06],
  [0.06, 0.68],
  [0.2, 0.93],
  [0.28, 0.95],
  [0.42, 0.71],
  [1, 0.15],
];

/** A kernel for unnamed work, derived from the memory controller's share of its busy time. */
export function inferKernel(memoryBusy: number): Kernel {
  let [lowBusy, lowCore] = [0, 0];
  let core = 0;
  for (const [busy, coreThere] of coreOverMemoryBusy) {
    core = coreThere;
    if (memoryBusy <= busy) {
      const share = busy === lowBusy ? 1 : (memoryBusy - lowBusy) / (busy - lowBusy);
      core = lowCore + (coreThere - lowCore) * share;
      break;
    }
    [lowBusy, lowCore] = [busy, coreThere];
  }
  return { ...kernels.generic, core, dram: 0.88 * memoryBusy, memoryBusy };
}
