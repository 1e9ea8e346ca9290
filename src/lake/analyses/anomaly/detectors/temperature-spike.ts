/** Detects a temperature jump within a minute that no change of power explains: blocked air, a failed pump, a faulty sensor. */
import { gpu } from "../../../../model/catalogue/index.ts";
import type { ReadingBlock } from "../block.ts";
import type { CoolingDetector } from "./cooling.ts";
import {
  type Detection,
  type Detector,
  type DetectorContext,
  digits,
  normalDetection,
  selector,
  undecidedDetection,
} from "./detector.ts";

const backBlocks = 4;
const leastKelvin = 8;
const sigmasOff = 8;
/** If power changed by more, heat follows, and the fit may lag. */
const steadyShare = 0.1;

interface PastExcess {
  readonly offKelvin: number;
  readonly powerWatts: number;
  readonly celsius: number;
}

export class TemperatureSpikeDetector implements Detector {
  readonly kind = "temperature_spike";
  readonly times = { beginAfterMs: 10_000, endAfterMs: 120_000 };
  readonly #cooling: CoolingDetector;
  #past: PastExcess[] = [];
  /** The excess before the jump. */
  #fromKelvin = 0;

  constructor(cooling: CoolingDetector) {
    this.#cooling = cooling;
  }

  see(block: ReadingBlock, { device, scaleWatts }: DetectorContext, suspected: boolean): Detection {
    const { offKelvin, sigmaKelvin, limitKelvin } = this.#cooling;
    const { celsius } = block;
    if (offKelvin === undefined || celsius === undefined) {
      this.#past = [];
      return undecidedDetection;
    }
    const past = this.#past;
    const before = past[0];
    this.#past = [
      ...past.slice(past.length >= backBlocks ? 1 : 0),
      { offKelvin, powerWatts: block.powerWatts, celsius },
    ];
    const limit = Math.max(leastKelvin, sigmasOff * sigmaKelvin, 2 * limitKelvin);
    if (suspected) {
      const still = offKelvin > limit / 2;
      return still ? this.#found(block, device, celsius, offKelvin, sigmaKelvin) : normalDetection;
    }
    if (before === undefined || past.length < backBlocks) return undecidedDetection;
    const steady = past.every(
      ({ powerWatts }) => Math.abs(block.powerWatts - powerWatts) < steadyShare * scaleWatts,
    );
    if (!steady || offKelvin - before.offKelvin < limit) return normalDetection;
    this.#fromKelvin = before.offKelvin;
    return this.#found(block, device, celsius, offKelvin, sigmaKelvin);
  }

  restart(): void {
    this.#past = [];
  }

  #found(
    block: ReadingBlock,
    device: DetectorContext["device"],
    celsius: number,
    offKelvin: number,
    sigma: number,
  ): Detection {
    const jump = offKelvin - this.#fromKelvin;
    return {
      verdict: true,
      evidence: () => ({
        seen: celsius,
        expected: celsius - jump,
        unit: "celsius",
        sigmas: jump / sigma,
        says: `${digits(celsius)} °C, ${digits(jump, 1)} K more than its ${digits(block.powerWatts)} W explain, and that within a minute: ${digits(jump / sigma)} sigmas.`,
        series: [selector(gpu.temperature.name, device), selector(gpu.power.name, device)],
      }),
    };
  }
}
