/** The PCIe link as it usually is while the card works. Fewer lanes or a lower generation than that is a slot, a riser or a card. */
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

const leastBlocks = 12;
/** Links save power while a card idles. */
const busyFrom = 0.1;

export class LinkDetector implements Detector {
  readonly kind = "link_degraded";
  readonly times = { beginAfterMs: 60_000, endAfterMs: 60_000 };
  readonly #generation = new Spread(0.1);
  readonly #width = new Spread(0.1);

  see(block: ReadingBlock, { device, readings }: DetectorContext, suspected: boolean): Detection {
    const generation = readings.get("linkGeneration");
    const width = readings.get("linkWidth");
    if (generation === undefined || width === undefined || block.peakUtilization < busyFrom)
      return undecidedDetection;
    const ready = this.#width.count >= leastBlocks;
    const usually = { generation: this.#generation.median, width: this.#width.median };
    const narrow = ready && width < usually.width - 0.5;
    const slow = ready && generation < usually.generation - 0.5;
    if (!narrow && !slow && !suspected) {
      this.#generation.add(generation);
      this.#width.add(width);
    }
    if (!ready) return undecidedDetection;
    if (!narrow && !slow) return normalDetection;
    const speed = (lanes: number, of: number): number => lanes * 2 ** of;
    const share = speed(width, generation) / speed(usually.width, usually.generation);
    return {
      verdict: true,
      evidence: () => ({
        seen: share,
        expected: 1,
        unit: "ratio",
        sigmas: Math.max(usually.width - width, usually.generation - generation) / 0.1,
        says: `Its PCIe link runs at generation ${digits(generation)} with ${digits(width)} lanes while it works, where generation ${digits(usually.generation)} with ${digits(usually.width)} is usual: ${digits(share * 100)} % of the speed.`,
        series: [
          selector(gpu.pcieLinkGeneration.name, device),
          selector(gpu.pcieLinkWidth.name, device),
          selector(gpu.pcieReplays.name, device),
        ],
      }),
    };
  }
}
