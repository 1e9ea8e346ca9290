/** The totals of the fleet. A sum has the number of its GPUs: a GPU without a reading adds nothing and does not count as zero. */
import type { WireValue } from "../../../../src/view/live/protocol.ts";
import {
  type Gpu,
  type GpuState,
  memoryTotal,
  numbersOf,
  powerLimit,
  read,
  sum,
  temperature,
  temperatureMargin,
} from "../../../../src/view/gpu.ts";

export interface SumOfTotal {
  readonly sum: number;
  readonly of: number;
  /** Number of GPUs that report both. */
  readonly count: number;
}

export interface Totals {
  readonly gpus: number;
  readonly states: Readonly<Record<GpuState, number>>;
  /** Undefined if no GPU reports it. */
  readonly utilization: { readonly mean: number; readonly count: number } | undefined;
  readonly power: { readonly watts: number; readonly count: number } | undefined;
  readonly powerOfLimit: SumOfTotal | undefined;
  readonly memory: SumOfTotal | undefined;
  readonly hottest:
    | { readonly gpu: Gpu; readonly celsius: number; readonly margin: number | undefined }
    | undefined;
}

export function totalsOf(gpus: readonly Gpu[]): Totals {
  const states: Record<GpuState, number> = {
    active: 0,
    idle: 0,
    asleep: 0,
    silent: 0,
    lost: 0,
    unknown: 0,
  };
  for (const { state } of gpus) states[state] += 1;
  const utilizations = numbersOf(gpus.map((gpu) => read(gpu, "utilization")));
  const powers = numbersOf(gpus.map((gpu) => read(gpu, "power")));
  return {
    gpus: gpus.length,
    states,
    utilization:
      utilizations.length === 0
        ? undefined
        : { mean: sum(utilizations) / utilizations.length, count: utilizations.length },
    power: powers.length === 0 ? undefined : { watts: sum(powers), count: powers.length },
    powerOfLimit: share(gpus, (gpu) => read(gpu, "power"), powerLimit),
    memory: share(gpus, (gpu) => read(gpu, "memoryUsed"), memoryTotal),
    hottest: hottestOf(gpus),
  };
}

function share(
  gpus: readonly Gpu[],
  part: (gpu: Gpu) => WireValue,
  whole: (gpu: Gpu) => WireValue,
): SumOfTotal | undefined {
  const both = gpus.flatMap((gpu) => {
    const [used, limit] = [part(gpu), whole(gpu)];
    return typeof used === "number" && typeof limit === "number" ? [{ used, limit }] : [];
  });
  if (both.length === 0) return undefined;
  return {
    sum: sum(both.map(({ used }) => used)),
    of: sum(both.map(({ limit }) => limit)),
    count: both.length,
  };
}

/** The GPU nearest to its own limit; among GPUs without a limit, the one with the highest temperature. */
function hottestOf(gpus: readonly Gpu[]): Totals["hottest"] {
  let hottest: Totals["hottest"];
  for (const gpu of gpus) {
    const celsius = temperature(gpu);
    if (typeof celsius !== "number") continue;
    const marginValue = temperatureMargin(gpu);
    const margin = typeof marginValue === "number" ? marginValue : undefined;
    if (hottest === undefined || isHotter({ celsius, margin }, hottest))
      hottest = { gpu, celsius, margin };
  }
  return hottest;
}

interface Heat {
  readonly celsius: number;
  readonly margin: number | undefined;
}

function isHotter(left: Heat, right: Heat): boolean {
  if (left.margin !== undefined && right.margin !== undefined) return left.margin < right.margin;
  if (left.margin !== undefined || right.margin !== undefined) return left.margin !== undefined;
  return left.celsius > right.celsius;
}
