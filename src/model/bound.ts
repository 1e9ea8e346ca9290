/** What holds a GPU's work back, as one word, from the mean activity of its units over a while. Pure: the same for every vendor. */

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

/** What each word means, for help texts, pages and the docs. */
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

/** Means over the window, as shares from 0 to 1. A share that the device does not report is left out. */
export interface BoundInputs {
  /** Time in which any kernel ran. */
  readonly busy?: number | undefined;
  /** Compute units with work; without it, latency cannot be distinguished from work that fills units we do not see. */
  readonly sm?: number | undefined;
  readonly tensor?: number | undefined;
  readonly fp64?: number | undefined;
  readonly fp32?: number | undefined;
  readonly fp16?: number | undefined;
  readonly integer?: number | undefined;
  /** Of the memory bandwidth, or of the memory controller's time. */
  readonly memory?: number | undefined;
  /** Of the busiest link's rate in one direction. */
  readonly link?: number | undefined;
  /** Time in which the power limit held the clock down. */
  readonly powerCapped?: number | undefined;
  readonly thermallyCapped?: number | undefined;
  /** Held clock over the highest. */
  readonly clock?: number | undefined;
}

/**
 * From sixteen kinds of work measured on an H200 (bound.test.ts has them): a unit that is the limit shows 73 % and more,
 * memory 88 %; others stay below 35 %. Nsight Compute calls 60 % of a unit's peak the limit too.
 */
const fullUnit = 0.6;
const fullMemory = 0.7;
/** A link that carries half of what it can sets the pace: transfers come in bursts. */
const fullLink = 0.5;
const someLink = 0.05;
const noWork = 0.05;
/** Below, the GPU has nothing to do for 30 % of the time and more. */
const mostlyBusy = 0.7;
/** A cap counts if it holds for half of the time. */
const mostlyCapped = 0.5;
/** Full units at the power limit are usual: large products run at 75 % of the highest clock. Below, the limit is the reason. */
const powerHeldClock = 0.6;
/** Heat is never usual: it counts as soon as it costs speed. */
const heatHeldClock = 0.9;

const units = ["tensor", "fp64", "fp32", "fp16", "integer"] as const;

/** Undefined where the device does not report enough to decide. */
export function findBound(inputs: BoundInputs): BoundWord | undefined {
  const { busy, sm, link = 0, clock } = inputs;
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
  if (busy < noWork && link < someLink) return "idle";
  if (busy < mostlyBusy) return "host";
  return sm === undefined ? undefined : "latency";
}

/** The unit that is furthest over its threshold. */
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
