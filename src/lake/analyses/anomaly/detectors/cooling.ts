/**
 * Heat per watt. A fit of each GPU's own temperature over its current power, the smoothed power of its heatsink and its memory
 * load predicts the temperature; dried-out thermal paste, dust and a lack of air show as degrees above the prediction, beyond
 * those of the machine's other cards.
 */
import { gpu } from "../../../../model/catalogue/index.ts";
import { deviceKey } from "../../../../model/device.ts";
import type { AnomalyDevice, Evidence } from "../anomaly.ts";
import { blockMs, type ReadingBlock } from "../block.ts";
import { Seasonal } from "../statistics/seasonal.ts";
import { StreamFit } from "../statistics/fit.ts";
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

const inputCount = 8;
/** Six hours of blocks: a card learns new surroundings within a day. */
const memoryBlocks = 2_160;
/** Half an hour of its own blocks, or a quarter of that if it starts from a peer's fit. */
const leastBlocks = 180;
const leastOwnBlocks = 45;
const powerSteps = 13;
const leastNear = 30;
/** A young fit errs by more than its residuals show, and learns from every block. */
const youngBlocks = 60;
/** Weight of a new block in the running mean: about 40 s, and two minutes if blocks are single instants. */
const meanShare = 0.25;
const instantMeanShare = 0.125;
const sigmasOff = 5;
/** The expected excess at a lower load must be this many sigmas before its absence proves a fix. */
const sigmasGone = 3;
/** An excess below this share of the expected one counts as gone. */
const goneShare = 0.3;
/** Below this share of the load at which the excess began, nothing is concluded: fans stop, and heat per watt is not constant. */
const leastLoadShare = 0.35;

export class CoolingDetector implements Detector {
  readonly kind = "cooling_degraded";
  readonly times = { beginAfterMs: 60_000, endAfterMs: 180_000 };
  readonly #fit = new StreamFit(inputCount, memoryBlocks, 0.3, 0.5);
  readonly #season = new Seasonal(0.5);
  /** The spread of the running mean over single instants, which is far smaller than that of each instant. */
  readonly #strays = new Spread(0.5, 0.004);
  readonly #inputs = new Float64Array(inputCount);
  /** Learned blocks per tenth of the power scale: a linear fit is unreliable at powers that the card has rarely had. */
  readonly #known = new Uint32Array(powerSteps);
  /** The load at which the excess began, and its maximum there in kelvin: at a lower load it is smaller. */
  #shownAtWatts = 0;
  #shownKelvin = 0;
  #mean = 0;
  #joined = "";
  #believes = false;
  /** Kelvin above the expected temperature in the newest block, corrected for room and season; for the spike detector. */
  offKelvin: number | undefined;
  limitKelvin = 0;
  sigmaKelvin = 1;

  see(block: ReadingBlock, around: DetectorContext, suspected: boolean): Detection {
    const { celsius } = block;
    this.offKelvin = undefined;
    if (celsius === undefined || !block.settled) return undecidedDetection;
    this.#join(around);
    const { scaleWatts, device, peers } = around;
    const inputs = this.#fill(block, scaleWatts);
    const { value: expected, sigma: blockSigma } = this.#fit.predict(inputs);
    const sigma = block.isInstant
      ? (blockSigma * this.#strays.sigma) / this.#fit.sigma
      : blockSigma;
    const residual = celsius - expected;
    const room = peers.offBy(groupOf(around), keyOf(device), block.endMs, residual, blockMs);
    const season = this.#season.at(block.endMs) ?? 0;
    const off = residual - room - season;
    const step = Math.min(powerSteps - 1, Math.floor((block.powerWatts / scaleWatts) * 10));
    const isKnown = this.#blocksNear(step) >= leastNear;
    const isMature = this.#fit.count >= leastBlocks || this.#believes;
    const ready = isKnown && isMature;
    this.offKelvin = ready ? off : undefined;
    this.sigmaKelvin = blockSigma;
    this.#mean += (off - this.#mean) * (block.isInstant ? instantMeanShare : meanShare);
    const young = 1 + youngBlocks / (this.#fit.count + 1);
    const limit = young * Math.max(leastKelvin(block, scaleWatts), sigmasOff * sigma);
    this.limitKelvin = limit;
    const bad = ready && this.#mean > limit;
    if (!isMature || (!suspected && (!isKnown || this.#mean < 0.6 * limit))) {
      this.#fit.learn(inputs, celsius);
      this.#known[step] = (this.#known[step] ?? 0) + 1;
      this.#season.add(block.endMs, residual - room);
      if (block.isInstant) this.#strays.add(this.#mean);
    }
    if (!ready) return undecidedDetection;
    if (bad) {
      const mean = this.#mean;
      if (!suspected) {
        this.#shownAtWatts = block.powerWatts;
        this.#shownKelvin = 0;
      }
      if (block.powerWatts >= 0.9 * this.#shownAtWatts)
        this.#shownKelvin = Math.max(this.#shownKelvin, mean);
      return {
        verdict: true,
        evidence: () => this.#evidence(block, around, celsius, mean, sigma),
      };
    }
    if (suspected && block.powerWatts < 0.7 * this.#shownAtWatts)
      return this.#isGone(block.powerWatts, sigma) ? normalDetection : undecidedDetection;
    return { verdict: suspected && this.#mean > 0.5 * limit ? undefined : false };
  }

  /** The steady-state temperature at 70 % of the power limit; undefined if no similar load was observed. */
  atLoad(): number | undefined {
    if (this.#fit.count < leastBlocks) return undefined;
    const share = 0.7;
    const inputs = Float64Array.of(
      1,
      share,
      share,
      share,
      share,
      this.#inputs[5] ?? 0,
      share ** 2,
      this.#inputs[7] ?? 0,
    );
    const { value, sigma } = this.#fit.predict(inputs);
    return sigma > 2 * this.#fit.sigma ? undefined : value;
  }

  restart(): void {
    this.#mean = 0;
  }

  /**
   * True if the excess would be visible at this load and is not. Bad paste adds degrees per watt: 12 K at full load is 5 K at
   * half load. An idle card shows no excess, which does not prove a fix.
   */
  #isGone(watts: number, sigma: number): boolean {
    const share = watts / this.#shownAtWatts;
    const wouldShow = this.#shownKelvin * share;
    return (
      share >= leastLoadShare &&
      wouldShow >= sigmasGone * sigma &&
      this.#mean < goneShare * wouldShow
    );
  }

  #join(around: DetectorContext): void {
    const group = groupOf(around);
    const device = keyOf(around.device);
    if (group !== this.#joined) {
      around.peers.join(group, device, this.#fit);
      this.#joined = group;
    }
    if (this.#fit.count >= leastBlocks || this.#believes) return;
    const learned = around.peers.learned(group, device, 2 * leastBlocks);
    if (learned === undefined) return;
    this.#fit.believe(learned);
    // Peers have different airflow: their fit is a starting point, not yet a measure.
    this.#believes = this.#fit.count >= leastOwnBlocks;
  }

  #blocksNear(step: number): number {
    const at = (place: number): number => this.#known[place] ?? 0;
    return at(step - 1) + at(step) + at(step + 1);
  }

  /** The fan is not an input: it follows the temperature, and would explain away the excess that it should show. */
  #fill(block: ReadingBlock, scaleWatts: number): Float64Array {
    const [fast, middle, slow] = block.pastWatts;
    const inputs = this.#inputs;
    inputs[0] = 1;
    inputs[1] = block.powerWatts / scaleWatts;
    inputs[2] = fast / scaleWatts;
    inputs[3] = middle / scaleWatts;
    inputs[4] = slow / scaleWatts;
    inputs[5] = block.memoryUtilization ?? 0;
    // A fan that speeds up with temperature makes the relation nonlinear.
    inputs[6] = (middle / scaleWatts) ** 2;
    // A die warms within a second, over which its power is averaged: for a single instant, utilization supplies the rest.
    inputs[7] = block.isInstant ? (block.utilization ?? 0) : 0;
    return inputs;
  }

  #evidence(
    block: ReadingBlock,
    { device }: DetectorContext,
    celsius: number,
    mean: number,
    sigma: number,
  ): Evidence {
    const expected = celsius - mean;
    return {
      seen: celsius,
      expected,
      unit: "celsius",
      sigmas: mean / sigma,
      says: `${digits(celsius)} °C at ${digits(block.powerWatts)} W, where ${digits(expected)} °C would be usual for it: ${digits(mean, 1)} K too hot, ${digits(mean / sigma)} sigmas, and not the other GPUs of the machine.`,
      series: [selector(gpu.temperature.name, device), selector(gpu.power.name, device)],
    };
  }
}

const keyOf = ({ host, uuid }: AnomalyDevice): string => deviceKey(host, uuid);
const groupOf = ({ device }: DetectorContext): string => `${device.host}\n${device.model}`;

/** Low power gives little heat, and a fan that starts, stops and lags deviates more from a linear fit. */
function leastKelvin({ powerWatts, fanRatio }: ReadingBlock, scaleWatts: number): number {
  const share = powerWatts / scaleWatts;
  if (fanRatio === undefined) return share > 0.4 ? 3 : share > 0.2 ? 4.5 : 6;
  return share > 0.4 ? 5 : share > 0.25 ? 6.5 : 12;
}
