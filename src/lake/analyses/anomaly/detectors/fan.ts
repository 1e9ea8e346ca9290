/**
 * Learns each card's own fan curve, fan speed by temperature. A fan that turns slower than before at the same temperature is
 * failing.
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

const stepCelsius = 5;
const bins = 24;
const leastBlocks = 6;
const leastRatio = 0.12;
const sigmasOff = 5;

export class FanDetector implements Detector {
  readonly kind = "fan_slow";
  readonly times = { beginAfterMs: 60_000, endAfterMs: 180_000 };
  readonly #curve: (Spread | undefined)[] = Array.from({ length: bins });

  see(
    { celsius, fanRatio }: ReadingBlock,
    { device }: DetectorContext,
    suspected: boolean,
  ): Detection {
    if (celsius === undefined || fanRatio === undefined) return undecidedDetection;
    const at = Math.min(bins - 1, Math.max(0, Math.floor(celsius / stepCelsius)));
    // Compares with the speed at a few degrees less, since fans lag and start at a threshold.
    const known = this.#expected(at - 1);
    const limit = known === undefined ? 0 : Math.max(leastRatio, sigmasOff * known.sigma);
    const slow = known !== undefined && fanRatio < known.median - limit;
    if (!slow && !suspected) (this.#curve[at] ??= new Spread(0.02)).add(fanRatio);
    if (known === undefined) return undecidedDetection;
    // Fans that may stop by design prove nothing.
    if (!slow) return known.median < leastRatio ? undecidedDetection : normalDetection;
    const { median, sigma } = known;
    return {
      verdict: true,
      evidence: () => ({
        seen: fanRatio,
        expected: median,
        unit: "ratio",
        sigmas: (median - fanRatio) / sigma,
        says: `Its fan turns at ${digits(fanRatio * 100)} % at ${digits(celsius)} °C, where ${digits(median * 100)} % would be usual for it: ${digits((median - fanRatio) / sigma)} sigmas.`,
        series: [selector(gpu.fanSpeed.name, device), selector(gpu.temperature.name, device)],
      }),
    };
  }

  /** The spread of the bin, or of the next cooler one with enough data. */
  #expected(bin: number): Spread | undefined {
    for (let at = bin; at >= 0; at--) {
      const spread = this.#curve[at];
      if (spread !== undefined && spread.count >= leastBlocks) return spread;
    }
    return undefined;
  }
}
