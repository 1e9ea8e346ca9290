/**
 * Names the bottleneck of a GPU's work in one word, from the mean activity of its units over a time window. Pure: the same for
 * every vendor.
 */

export const boundWords = [
  "idle",
  "host",
  "latency",
  "memory",
  "tensor",
  "fp64",
  "fp32",
  "fp16",
  "integer",
  "link",
  "power",
  "thermal",
] as const;
export type BoundWord = (typeof boundWords)[number];

/** The meaning of each word, for help texts, pages and the docs. */
export const boundMeanings: Readonly<Record<BoundWord, string>> = {
  idle: "nothing runs",
  host: "the GPU waits for the program: launches, input, or pauses between kernels",
  latency:
    "kernels run, but no unit is full: too little parallel work, or kernels that wait for themselves",
  memory: "device memory is as busy as it gets",
  tensor: "the matrix units are as busy as they get",
  fp64: "the FP64 units are as busy as they get",
  fp32: "the FP32 units are as busy as they get",
  fp16: "the FP16 units are as busy as they get",
  integer: "the integer units are as busy as they get",
  link: "PCIe or the link to other GPUs is as busy as it gets",
  power: "the power limit holds the clock down",
  thermal: "heat holds the clock down",
};

/** Means over the window, as shares from 0 to 1. Undefined if the device does not report the value. */
export interface BoundInputs {
  /** Share of time in which any kernel ran. */
  readonly busy?: number | undefined;
  /** Share of time in which the busiest compute die had work, on GPUs of several dies. `busy` is their mean. */
  readonly busiestDie?: number | undefined;
  /** True if the dies are shared out to several devices, so that their programs are independent. */
  readonly isPartitioned?: boolean | undefined;
  /** Share of compute units with work. Without it, latency cannot be distinguished from work on units without a counter. */
  readonly sm?: number | undefined;
  readonly tensor?: number | undefined;
  readonly fp64?: number | undefined;
  readonly fp32?: number | undefined;
  readonly fp16?: number | undefined;
  readonly integer?: number | undefined;
  /** Share of the memory bandwidth, or of the memory controller's time. */
  readonly memory?: number | undefined;
  /** Rate of the busiest link in one direction, as a share of its maximum. */
  readonly link?: number | undefined;
  /** Share of time in which the power limit held the clock down. */
  readonly powerCapped?: number | undefined;
  readonly thermallyCapped?: number | undefined;
  /** Current clock divided by the highest clock. */
  readonly clock?: number | undefined;
}

/**
 * Thresholds from sixteen workloads measured on an H200 (listed in bound.test.ts): a unit that is the bottleneck is at least 73 %
 * busy, memory at least 88 %; all other units stay below 35 %. Nsight Compute also treats 60 % of a unit's peak as the limit.
 */
const fullUnit = 0.6;
const fullMemory = 0.7;
/** Transfers come in bursts, so that a link at half of its maximum rate is already the bottleneck. */
const fullLink = 0.5;
const someLink = 0.05;
const noWork = 0.05;
/** Below this share the GPU is idle for 30 % of the time or more. */
const mostlyBusy = 0.7;
/** One die that is busy and at least this many times as busy as the mean: work runs all the time, on part of the chip. */
const unevenDies = 2;
/** A power or thermal cap counts if it is active for at least half of the time. */
const mostlyCapped = 0.5;
/**
 * Full units at the power limit are normal: large matrix products run at 75 % of the highest clock. Below this share the limit is
 * the bottleneck.
 */
const powerHeldClock = 0.6;
/** Thermal throttling is never normal: it counts as soon as it lowers the clock. */
const heatHeldClock = 0.9;

const units = ["tensor", "fp64", "fp32", "fp16", "integer"] as const;

/** Returns undefined if the device does not report enough to decide. */
export function findBound(inputs: BoundInputs): BoundWord | undefined {
  const { busy, busiestDie = 0, sm, link = 0, clock } = inputs;
  if (busy === undefined) return undefined;
  const full = fullestUnit(inputs);
  if (busy >= mostlyBusy) {
    const isHeldBelow = (share: number): boolean => clock === undefined || clock < share;
    if ((inputs.thermallyCapped ?? 0) >= mostlyCapped && isHeldBelow(heatHeldClock))
      return "thermal";
    const isCapped = (inputs.powerCapped ?? 0) >= mostlyCapped;
    if (isCapped && (full === undefined || (clock !== undefined && clock < powerHeldClock)))
      return "power";
  }
  if (full !== undefined) return full;
  if (link >= fullLink) return "link";
  if (busy < noWork && busiestDie < noWork && link < someLink) return "idle";
  if (busiestDie >= mostlyBusy && busiestDie >= unevenDies * busy)
    return inputs.isPartitioned === true ? undefined : "latency";
  if (busy < mostlyBusy) return "host";
  return sm === undefined ? undefined : "latency";
}

/** Returns the unit that exceeds its threshold by the largest factor. */
function fullestUnit(inputs: BoundInputs): BoundWord | undefined {
  let [word, most]: [BoundWord | undefined, number] = [undefined, 1];
  const consider = (name: BoundWord, share: number | undefined, full: number): void => {
    if (share === undefined || share / full < most) return;
    [word, most] = [name, share / full];
  };
  consider("memory", inputs.memory, fullMemory);
  for (const name of units) consider(name, inputs[name], fullUnit);
  return word;
}
