/**
 * What limited the GPUs of a run, their estimated FLOP rates, and model FLOP utilisation if the work is counted in FLOP. Pure.
 */
import { boundWords } from "../model/bound.ts";
import { assumablePrecisions, peakFlops, ratesOf } from "../model/gpu-rates.ts";
import type { Run, RunDevice, RunWork } from "./run.ts";

/** Returns the readings of a column while the command ran. */
export type ReadColumn = (name: string) => readonly number[];

const meanOf = (values: readonly number[]): number | undefined =>
  values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length;

const percent = (ratio: number): string => `${(ratio * 100).toFixed(0)} %`;

/** `bound by tensor 82 %, host 18 %`: shares of the time with a known limit, the largest first. */
export function formatBounds(read: ReadColumn): string | undefined {
  const counts = boundWords
    .map((word) => ({ word, count: read(`gpu_bound_${word}`).filter((on) => on === 1).length }))
    .filter(({ count }) => count > 0)
    .toSorted((one, other) => other.count - one.count);
  const total = counts.reduce((sum, { count }) => sum + count, 0);
  if (total === 0) return undefined;
  return `bound by ${counts.map(({ word, count }) => `${word} ${percent(count / total)}`).join(", ")}`;
}

/** `about 615 TFLOP/s (bf16)`: the mean of the estimates. */
export function formatFlops(read: ReadColumn): string | undefined {
  for (const precision of assumablePrecisions) {
    const flops = meanOf(read(`gpu_tensor_flops_estimate_${precision}`));
    if (flops !== undefined && flops > 0)
      return `about ${(flops / 1e12).toPrecision(3)} TFLOP/s on tensor cores (as ${precision})`;
  }
  return undefined;
}

const scales: Readonly<Record<string, number>> = {
  "": 1,
  k: 1e3,
  m: 1e6,
  g: 1e9,
  t: 1e12,
  p: 1e15,
  e: 1e18,
};

type CountedWork = Pick<RunWork, "amount" | "unit">;

/** Work in FLOP; undefined for another unit. */
export function workFlop({
  work,
}: {
  readonly work?: CountedWork | undefined;
}): number | undefined {
  const [, prefix] = /^([kmgtpe]?)flops?$/i.exec(work?.unit ?? "") ?? [];
  const scale = prefix === undefined ? undefined : scales[prefix.toLowerCase()];
  return work === undefined || scale === undefined ? undefined : work.amount * scale;
}

/**
 * Counted FLOP/s relative to the dense peaks of all GPUs of the run: at the data sheet's clock, and at the actual clock.
 * Undefined if the work is not in FLOP or the peak of a GPU is unknown.
 */
export function formatMfu(
  run: Pick<Run, "durationSeconds"> & {
    readonly work?: CountedWork | undefined;
    readonly devices: readonly Pick<RunDevice, "uuid" | "model" | "parent">[];
  },
  columnsOf: (uuid: string) => ReadColumn,
): string | undefined {
  const flop = workFlop(run);
  const gpus = run.devices.filter(({ parent }) => parent === undefined);
  if (flop === undefined || gpus.length === 0) return undefined;
  const assumed = assumablePrecisions.find((precision) =>
    gpus.some(({ uuid }) => columnsOf(uuid)(`gpu_tensor_flops_estimate_${precision}`).length > 0),
  );
  const precision = assumed ?? "bf16";
  let [peak, held] = [0, 0];
  for (const { uuid, model } of gpus) {
    const rates = ratesOf(model);
    const own = rates && peakFlops(rates, precision);
    if (rates === undefined || own === undefined) return undefined;
    const clock = meanOf(columnsOf(uuid)("gpu_clock_hertz_sm"));
    peak += own;
    held += (clock === undefined ? undefined : peakFlops(rates, precision, clock)) ?? Number.NaN;
  }
  const flops = flop / run.durationSeconds;
  const share = (of: number): string => `${((100 * flops) / of).toFixed(1)} %`;
  const atClock = Number.isNaN(held) ? "" : `, ${share(held)} of the peak at the clock held`;
  return `model FLOP utilisation ${share(peak)} of the dense ${precision} peak (${(peak / 1e12).toPrecision(4)} TFLOP/s)${atClock}`;
}
