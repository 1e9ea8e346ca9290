/**
 * Work that is not done uses no energy and moves no data: a GPU does less work if, at the same utilization and clock as before or
 * as others on the same kind of work, it draws less power above idle or uses its memory less. Compares within one job, and with
 * other runs of the same kind.
 */
import { gpu } from "../../../../model/catalogue/index.ts";
import type { ReadingBlock } from "../block.ts";
import { kindOfWork, type Measure, type WorkGroup } from "../work.ts";
import { Spread } from "../statistics/spread.ts";
import {
  type Detection,
  type Detector,
  type DetectorContext,
  digits,
  normalDetection,
  selector,
  undecidedDetection,
} from "./detector.ts";

/** Two minutes: utilisation is sampled at instants, so means over less time are noise. */
const windowBlocks = 12;
const leastUtilization = 0.25;
/** Threshold if both measures exist: with little work, one alone may deviate by chance. */
const leastUtilizationOfBoth = 0.15;
/** Below this share above idle, power does not measure work. */
const leastLoad = 0.08;
const leastShare = 0.06;
const sigmasOff = 5;
/** A slower clock explains lower power; the clock detector reports that. */
const slowerClock = 0.97;
const leastBlocks = 60;
/** The other measure must deviate by at least this share of the first one; a power cap hides part of it. */
const agreeShare = 0.35;
/** A single measure needs a higher threshold. */
const aloneShare = 0.6;

interface ObservedWork {
  readonly utilization: number;
  readonly lessWatts: number;
  readonly workWatts: number;
  readonly traffic: number | undefined;
}

interface MeasureComparison {
  readonly less: number;
  readonly sigma: number;
  readonly than: "before" | "others";
}

/** One measure of the running job. */
class RunningMeasure {
  readonly by: string;
  readonly of: (group: WorkGroup) => Measure;
  run = new Spread(0.015);
  less: number | undefined;
  noise = 0;

  constructor(by: string, of: (group: WorkGroup) => Measure) {
    this.by = by;
    this.of = of;
  }

  /** `times` scales the deviation: 2 tests whether it is halfway to being reported. */
  compare(group: WorkGroup, times = 1): MeasureComparison | undefined {
    if (this.less === undefined) return undefined;
    const measure = this.of(group);
    const within = Math.max(measure.within.sigma, this.noise);
    const fell = this.fell(group, "before") ?? 0;
    if (times * fell > Math.max(leastShare, sigmasOff * within))
      return { less: fell, sigma: within, than: "before" };
    const usually = measure.limit(leastShare, sigmasOff);
    const less = this.fell(group, "others") ?? 0;
    if (usually === undefined || times * less <= Math.max(usually.limit, sigmasOff * this.noise))
      return undefined;
    return { less, sigma: Math.max(usually.sigma, this.noise), than: "others" };
  }

  /** How far the measure is below the same job before, or below the median of other runs; undefined if unknown. */
  fell(group: WorkGroup, than: MeasureComparison["than"]): number | undefined {
    if (this.less === undefined) return undefined;
    if (than === "before")
      return this.run.count >= windowBlocks ? this.less - this.run.median : undefined;
    const usually = this.of(group).limit(leastShare, sigmasOff);
    return usually === undefined ? undefined : this.less - usually.middle;
  }

  learn(group: WorkGroup): void {
    if (this.less === undefined) return;
    if (this.run.count >= windowBlocks) this.of(group).within.add(this.less - this.run.median);
    this.run.add(this.less);
  }

  /** Called when the job is over; `group` is given if nothing was wrong, so that the job counts as a run of its kind. */
  over(group: WorkGroup | undefined): void {
    if (group !== undefined && this.run.count >= windowBlocks / 2)
      this.of(group).ran(this.run.median);
    this.run = new Spread(0.015);
    this.less = undefined;
  }
}

export class StragglerDetector implements Detector {
  readonly kind = "straggler";
  readonly times = { beginAfterMs: 60_000, endAfterMs: 120_000 };
  readonly #inputs = new Float64Array(3);
  readonly #power = new RunningMeasure("power above idle", ({ byPower }) => byPower);
  readonly #traffic = new RunningMeasure("use of its memory", ({ byTraffic }) => byTraffic);
  #seen: ObservedWork[] = [];
  #owner: string | undefined;
  #sound = true;

  see(block: ReadingBlock, around: DetectorContext, suspected: boolean): Detection {
    const { owner, utilization, busyHertz } = block;
    if (owner !== this.#owner) this.#begin(owner, around);
    if (owner === undefined || utilization === undefined || !block.steadyOwner)
      return undecidedDetection;
    const least = block.memoryUtilization === undefined ? leastUtilization : leastUtilizationOfBoth;
    if (utilization < least || busyHertz === undefined || block.heldByHeat)
      return undecidedDetection;
    const group = groupOf(owner, around);
    this.#measure(block, around, group, utilization);
    if (group.clock.count > 30 && busyHertz < slowerClock * group.clock.median)
      return undecidedDetection;
    const measures = [this.#power, this.#traffic];
    const by = measures.find((one) => this.#agreed(one, group) !== undefined);
    const isNear = measures.some((one) => one.compare(group, 2) !== undefined);
    if (suspected) this.#sound = false;
    else if (!isNear) this.#teach(block, group);
    const found = by === undefined ? undefined : this.#agreed(by, group);
    if (by === undefined || found === undefined) {
      if (measures.every(({ less }) => less === undefined)) return undecidedDetection;
      return suspected && isNear ? undecidedDetection : normalDetection;
    }
    const share = Math.max(0, 1 - found.less);
    const sigmas = found.less / found.sigma;
    return {
      verdict: true,
      evidence: () => ({
        seen: share,
        expected: 1,
        unit: "ratio",
        sigmas,
        says: `Busy ${digits(utilization * 100)} % of the time on ${kindOfWork(owner)} at ${digits(busyHertz / 1e6)} MHz, yet by its ${by.by} it does about ${digits(share * 100)} % of the work that ${found.than === "before" ? "it did before in the same job" : `${by.of(group).runs} other runs of it on this model did`}: ${digits(sigmas)} sigmas.`,
        series: [
          selector(gpu.power.name, around.device),
          selector(gpu.utilization.name, around.device),
          selector(gpu.memoryControllerUtilization.name, around.device),
          selector(gpu.clock.name, around.device, ',domain="graphics"'),
        ],
      }),
    };
  }

  /** The result of one measure, unless the other contradicts it: less work lowers both. */
  #agreed(one: RunningMeasure, group: WorkGroup): MeasureComparison | undefined {
    const other = one === this.#power ? this.#traffic : this.#power;
    const found = one.compare(group, other.less === undefined ? aloneShare : 1);
    if (found === undefined || other.less === undefined) return found;
    const agrees = (other.fell(group, found.than) ?? 0) > agreeShare * found.less;
    return agrees ? found : undefined;
  }

  restart(): void {
    this.#seen = [];
    this.#owner = undefined;
    this.#sound = false;
  }

  #begin(owner: string | undefined, around: DetectorContext): void {
    const was =
      this.#owner === undefined || !this.#sound ? undefined : groupOf(this.#owner, around);
    for (const one of [this.#power, this.#traffic]) one.over(was);
    this.#owner = owner;
    this.#seen = [];
    this.#sound = true;
  }

  /** Means over the window, as shares below the usual for this work. */
  #measure(
    block: ReadingBlock,
    { scaleWatts }: DetectorContext,
    group: WorkGroup,
    utilization: number,
  ): void {
    const inputs = this.#inputs;
    inputs[0] = 1;
    inputs[1] = utilization;
    inputs[2] = utilization * utilization;
    const expected = group.power.predict(inputs).value;
    const { memoryUtilization } = block;
    this.#seen.push({
      utilization,
      lessWatts: expected - block.powerWatts,
      workWatts: expected - (group.power.weights[0] ?? 0),
      traffic: memoryUtilization === undefined ? undefined : memoryUtilization / utilization,
    });
    if (this.#seen.length > windowBlocks) this.#seen.shift();
    const isFull = this.#seen.length === windowBlocks && group.power.count >= leastBlocks;
    const less = sum(this.#seen, ({ lessWatts }) => lessWatts);
    const work = sum(this.#seen, ({ workWatts }) => workWatts);
    this.#power.less =
      isFull && work > leastLoad * scaleWatts * windowBlocks ? less / work : undefined;
    const byLoad = noiseOf(this.#seen.map((one) => one.utilization));
    // Single instants of a load that swings within seconds differ by more than its utilisation shows.
    const byPower = block.isSparse
      ? noiseOf(this.#seen.map((one) => one.workWatts - one.lessWatts))
      : 0;
    this.#power.noise = Math.max(byLoad, byPower);
    const traffic = this.#seen.flatMap((one) => one.traffic ?? []);
    const usually = group.traffic.median;
    const isReported = isFull && traffic.length === windowBlocks && usually > 0.02;
    this.#traffic.less = isReported
      ? 1 - sum(traffic, (one) => one) / windowBlocks / usually
      : undefined;
    this.#traffic.noise = noiseOf(traffic);
  }

  #teach(block: ReadingBlock, group: WorkGroup): void {
    group.power.learn(this.#inputs, block.powerWatts);
    if (block.busyHertz !== undefined) group.clock.add(block.busyHertz);
    const traffic = this.#seen.at(-1)?.traffic;
    if (traffic !== undefined) group.traffic.add(traffic);
    this.#power.learn(group);
    this.#traffic.learn(group);
  }
}

const groupOf = (owner: string, { peers, device }: DetectorContext): WorkGroup =>
  peers.work(`${device.model}\n${kindOfWork(owner)}`);

function sum<Item>(items: readonly Item[], of: (item: Item) => number): number {
  let total = 0;
  for (const item of items) total += of(item);
  return total;
}

/** The relative standard error of the mean: the uncertainty due to an uneven load. */
function noiseOf(values: readonly number[]): number {
  if (values.length === 0) return 0;
  const mean = sum(values, (value) => value) / values.length;
  const variance = sum(values, (value) => (value - mean) ** 2) / values.length;
  return Math.sqrt(variance / values.length) / mean;
}
