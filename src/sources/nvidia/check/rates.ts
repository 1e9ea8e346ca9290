/** Measures sustained FP32 and bf16 tensor rates. Every block computes the same, so differing digests also reveal a faulty SM. */
import { Agreement } from "./agreement.ts";
import type { CheckedDevice, RateResult } from "./protocol.ts";
import { baseModule, fp32FlopPerLoop, fp32Shape } from "./ptx/base.ts";
import { mmaFlopPerLoop, mmaShape, tensorModule } from "./ptx/tensor.ts";
import { wgmmaFlopPerLoop, wgmmaModule, wgmmaShape } from "./ptx/wgmma.ts";
import { type CheckSession, repeatsFor, runSlices } from "./session.ts";

interface Load {
  readonly test: RateResult["test"];
  readonly instruction: RateResult["instruction"];
  readonly module: () => string;
  readonly kernel: string;
  readonly threads: number;
  readonly blocksPerSm: number;
  readonly flopPerLoop: number;
}

const fp32: Load = {
  test: "fp32",
  instruction: "fma",
  module: baseModule,
  kernel: "fp32_rate",
  flopPerLoop: fp32FlopPerLoop,
  ...fp32Shape,
};
const mma: Load = {
  test: "tensor",
  instruction: "mma.sync",
  module: tensorModule,
  kernel: "tensor_rate",
  flopPerLoop: mmaFlopPerLoop,
  ...mmaShape,
};
const wgmma: Load = {
  test: "tensor",
  instruction: "wgmma",
  module: wgmmaModule,
  kernel: "tensor_rate",
  flopPerLoop: wgmmaFlopPerLoop,
  ...wgmmaShape,
};

/** The fastest load first. bf16 tensor instructions exist since Ampere; wgmma exists only on Hopper. */
export function tensorLoadsOf({ computeCapability }: CheckedDevice): readonly Load[] {
  if (computeCapability === 90) return [wgmma, mma];
  return computeCapability >= 80 ? [mma] : [];
}

export const fp32Load = fp32;

/** Share of the slices left out of the rate, while clocks and power settle. */
const settlingShare = 0.3;
const firstLoops = 16;
const mostLoops = 2 ** 31;

interface Slice {
  readonly seconds: number;
  readonly cycles: number;
}

export async function measureRate(
  session: CheckSession,
  load: Load,
  seconds: number,
): Promise<RateResult> {
  const { device, facts } = session;
  const kernel = device.loadModule(load.module())(load.kernel);
  const { threads } = load;
  const blocks = facts.smCount * load.blocksPerSm;
  const digests = new Uint32Array(blocks * threads);
  const records = new BigUint64Array(blocks * 2);
  const digestMemory = device.allocate(digests.byteLength);
  const recordMemory = device.allocate(records.byteLength);
  const launch = (loops: number): number =>
    device.time(() =>
      device.launch({
        kernel,
        blocks,
        threads,
        params: [digestMemory.address, recordMemory.address, loops],
      }),
    );
  launch(firstLoops);
  // Estimate the time per loop twice: from a launch dominated by overhead, then from one of an eighth of a slice.
  const trial = repeatsFor((launch(firstLoops) / firstLoops) * 8, mostLoops);
  const loops = repeatsFor(launch(trial) / trial, mostLoops);
  const agreement = new Agreement(threads);
  const slices: Slice[] = [];
  await runSlices(session, { test: load.test, seconds }, () => {
    const elapsed = launch(loops);
    device.read(digests, digestMemory.address);
    device.read(records, recordMemory.address);
    const sms = Array.from({ length: blocks }, (_, block) => Number(records[block * 2 + 1] ?? 0n));
    agreement.add(digests, sms);
    slices.push({ seconds: elapsed, cycles: cyclesOf(records, sms) });
    return elapsed;
  });
  digestMemory.free();
  recordMemory.free();
  const settled = slices.slice(Math.floor(slices.length * settlingShare));
  const total = (of: (slice: Slice) => number): number =>
    settled.reduce((sum, slice) => sum + of(slice), 0);
  const [time, cycles] = [total((slice) => slice.seconds), total((slice) => slice.cycles)];
  const flopPerSm = settled.length * loops * load.flopPerLoop * load.blocksPerSm;
  return {
    test: load.test,
    instruction: load.instruction,
    flopsPerSecond: (flopPerSm * facts.smCount) / time,
    flopsPerCycleAndSm: flopPerSm / cycles,
    heldHertz: cycles / time,
    seconds: slices.reduce((sum, slice) => sum + slice.seconds, 0),
    wrong: agreement.wrong,
  };
}

/**
 * The mean over the SMs of the cycles of each one's longest block. All blocks of an SM start together, but its schedulers prefer
 * the oldest warps: on an H200 the four blocks of the FP32 load end one after another.
 */
function cyclesOf(records: BigUint64Array, smOfBlock: readonly number[]): number {
  const longest = new Map<number, number>();
  smOfBlock.forEach((sm, block) => {
    const cycles = Number(records[block * 2] ?? 0n);
    longest.set(sm, Math.max(cycles, longest.get(sm) ?? 0));
  });
  return [...longest.values()].reduce((sum, cycles) => sum + cycles, 0) / longest.size;
}
