/**
 * The clock that a GPU reaches under load when neither power nor heat limits it. A GPU that stays below is stuck, locked or
 * throttled.
 */
import { gpu } from "../../../../model/catalogue/index.ts";
import type { ReadingBlock } from "../block.ts";
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

const leastBlocks = 30;
const leastShare = 0.06;
const sigmasOff = 6;
/** Near the limit, the power cap may be active though it is not reported. */
const nearLimit = 0.93;

export class ClockDetector implements Detector {
  readonly kind = "clock_low";
  readonly times = { beginAfterMs: 60_000, endAfterMs: 120_000 };
  readonly #usual = new Spread(5e6);
  /** The highest clock reached since the departure began. */
  #lowHertz = 0;

  see(
    block: ReadingBlock,
    { device, peers, scaleWatts }: DetectorContext,
    suspected: boolean,
  ): Detection {
    const hertz = block.freeHertz;
    // Whatever limits the clock now, it rose higher than a stuck clock could.
    if (suspected && (block.busyHertz ?? 0) > 1.05 * this.#lowHertz) return normalDetection;
    if (hertz === undefined || block.heldByHeat || block.powerWatts > nearLimit * scaleWatts)
      return undecidedDetection;
    const ofModel = peers.clock(device.model);
    const known = this.#usual.count >= leastBlocks ? this.#usual : ofModel;
    const ready = known.count >= leastBlocks;
    const limit = Math.max(leastShare * known.median, sigmasOff * known.sigma);
    const low = ready && hertz < known.median - limit;
    if (!low && !suspected) {
      this.#usual.add(hertz);
      ofModel.add(hertz);
    }
    if (!ready) return undecidedDetection;
    if (!low) return normalDetection;
    this.#lowHertz = suspected ? Math.max(this.#lowHertz, hertz) : hertz;
    const sigmas = (known.median - hertz) / known.sigma;
    return {
      verdict: true,
      evidence: () => ({
        seen: hertz,
        expected: known.median,
        unit: "hertz",
        sigmas,
        says: `${digits(hertz / 1e6)} MHz under load, where it usually reaches ${digits(known.median / 1e6)} MHz, and neither its power limit nor heat holds it down: ${digits(sigmas)} sigmas.`,
        series: [
          selector(gpu.clock.name, device, ',domain="graphics"'),
          selector(gpu.throttleActive.name, device),
        ],
      }),
    };
  }
}
