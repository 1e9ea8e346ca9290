/**
 * Work that is not done costs no energy: a GPU that is as busy as it was, or as others are on the same kind of work, at the
 * same clock, and draws less above idle, gets less done. Compared within one job, and with other runs of the same kind.
 */
import { gpu } from "../../../model/catalogue/index.ts";
import type { Block } from "../block.ts";
import type { WorkGroup } from "../peers.ts";
import { Spread } from "../statistics/spread.ts";
import type { Detector, Finding, Surroundings } from "./detector.ts";
import { cannotTell, digits, selector, usual } from "./detector.ts";
import { kindOfWork } from "./work.ts";

/** Two minutes: utilisation is a sample of an instant, so shorter means say little. */
const windowBlocks = 12;
const leastUtilization = 0.25;
/** Below this much above idle, power says nothing of work. */
const leastLoad = 0.08;
const leastShare = 0.08;
const sigmasOff = 5;
/** A slower clock explains less power; the clock detector tells of it. */
const slowerClock = 0.97;

interface Seen {
  readonly utilization: number;
  readonly lessWatts: number;
  readonly workWatts: number;
}

interface Compared {
  readonly less: number;
  readonly sigma: number;
  readonly than: string;
}

export class StragglerDetector implements Detector {
  readonly kind = "straggler";
  readonly times = { beginAfterMs: 60_000, endAfterMs: 120_000 };
  readonly #inputs = new Float64Array(3);
  #seen: Seen[] = [];
  #owner: string | undefined;
  /** How much less than usual this job drew so far, while nothing was wrong. */
  #run = new Spread(0.015);
  #sound = true;

  see(block: Block, around: Surroundings, suspected: boolean): Finding {
    const { owner, utilization, busyHertz } = block;
    if (owner !== this.#owner) this.#begin(owner, around);
    if (owner === undefined || utilization === undefined || !block.steadyOwner) return cannotTell;
    if (utilization < leastUtilization || busyHertz === undefined || block.heldByHeat)
      return cannotTell;
    const group = groupOf(owner, around);
    const less = this.#less(block, around, group, utilization);
    if (group.clock.count > 30 && busyHertz < slowerClock * group.clock.median) return cannotTell;
    const found = less === undefined ? undefined : this.#compare(less, group);
    const near = less === undefined ? undefined : this.#compare(2 * less, group);
    if (suspected) this.#sound = false;
    else if (near === undefined || group.limit(leastShare, sigmasOff) === undefined)
      this.#teach(block, around, group, less);
    if (less === undefined) return cannotTell;
    if (found === undefined) return suspected && near !== undefined ? cannotTell : usual;
    const share = 1 - found.less;
    const sigmas = found.less / found.sigma;
    return {
      verdict: true,
      evidence: () => ({
        seen: share,
        expected: 1,
        unit: "ratio",
        sigmas,
        says: `Busy ${digits(utilization * 100)} % of the time on ${kindOfWork(owner)} at ${digits(busyHertz / 1e6)} MHz, yet by its power above idle it does about ${digits(share * 100)} % of the work that ${found.than}: ${digits(sigmas)} sigmas.`,
        series: [
          selector(gpu.power.name, around.device),
          selector(gpu.utilization.name, around.device),
          selector(gpu.clock.name, around.device, ',domain="graphics"'),
        ],
      }),
    };
  }

  restart(): void {
    this.#seen = [];
    this.#owner = undefined;
    this.#sound = false;
  }

  #begin(owner: string | undefined, around: Surroundings): void {
    if (this.#owner !== undefined && this.#sound && this.#run.count >= windowBlocks / 2)
      groupOf(this.#owner, around).ran(this.#run.median);
    this.#owner = owner;
    this.#seen = [];
    this.#run = new Spread(0.015);
    this.#sound = true;
  }

  /** How much less it drew above idle than is usual for this work, over the window; undefined while too little is known. */
  #less(
    block: Block,
    { scaleWatts }: Surroundings,
    group: WorkGroup,
    utilization: number,
  ): number | undefined {
    const inputs = this.#inputs;
    inputs[0] = 1;
    inputs[1] = utilization;
    inputs[2] = utilization * utilization;
    const expected = group.power.predict(inputs).value;
    const idle = group.power.weights[0] ?? 0;
    this.#seen.push({ utilization, lessWatts: expected - block.powerWatts, workWatts: expected - idle });
    if (this.#seen.length > windowBlocks) this.#seen.shift();
    if (this.#seen.length < windowBlocks || group.power.count < 60) return undefined;
    let [less, work] = [0, 0];
    for (const one of this.#seen) {
      less += one.lessWatts;
      work += one.workWatts;
    }
    return work < leastLoad * scaleWatts * this.#seen.length ? undefined : less / work;
  }

  #compare(less: number, group: WorkGroup): Compared | undefined {
    const noise = this.#noise();
    const within = Math.max(group.within.sigma, noise);
    const fell = less - this.#run.median;
    if (this.#run.count >= windowBlocks && fell > Math.max(leastShare, sigmasOff * within))
      return { less: fell, sigma: within, than: "it did before in the same job" };
    const usually = group.limit(leastShare, sigmasOff);
    if (usually === undefined) return undefined;
    const { middle, limit } = usually;
    const sigma = Math.max(usually.sigma, noise);
    if (less - middle <= Math.max(limit, sigmasOff * noise)) return undefined;
    return { less: less - middle, sigma, than: `${group.runs} other runs of it on this model did` };
  }

  /** How much the window's mean utilisation may be off by chance, over itself: what a fitful load leaves uncertain. */
  #noise(): number {
    let [sum, squares] = [0, 0];
    for (const { utilization } of this.#seen) {
      sum += utilization;
      squares += utilization * utilization;
    }
    const count = this.#seen.length;
    const mean = sum / count;
    return Math.sqrt(Math.max(0, squares / count - mean * mean) / count) / mean;
  }

  #teach(block: Block, { device }: Surroundings, group: WorkGroup, less: number | undefined): void {
    group.from(device.uuid);
    group.power.learn(this.#inputs, block.powerWatts);
    if (block.busyHertz !== undefined) group.clock.add(block.busyHertz);
    if (less === undefined) return;
    if (this.#run.count >= windowBlocks) group.within.add(less - this.#run.median);
    this.#run.add(less);
  }
}

const groupOf = (owner: string, { peers, device }: Surroundings): WorkGroup =>
  peers.work(`${device.model}\n${kindOfWork(owner)}`);
