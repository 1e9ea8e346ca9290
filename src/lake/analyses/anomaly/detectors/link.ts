/**
 * Compares the PCIe link with its usual state under load. Fewer lanes or a lower generation mean a faulty slot, riser or card.
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

const leastBlocks = 12;
/** Links save power while the card is idle. */
const busyFrom = 0.1;

/** Some exporters report only one of the two. */
interface LinkState {
  readonly generation: number | undefined;
  readonly width: number | undefined;
}

export class LinkDetector implements Detector {
  readonly kind = "link_degraded";
  readonly times = { beginAfterMs: 60_000, endAfterMs: 60_000 };
  readonly #generation = new Spread(0.1);
  readonly #width = new Spread(0.1);

  see(block: ReadingBlock, { device, readings }: DetectorContext, suspected: boolean): Detection {
    const now: LinkState = {
      generation: readings.get("linkGeneration"),
      width: readings.get("linkWidth"),
    };
    if (isUnknown(now) || block.peakUtilization < busyFrom) return undecidedDetection;
    const usually: LinkState = {
      generation: medianOf(this.#generation),
      width: medianOf(this.#width),
    };
    const lost = Math.max(
      below(usually.generation, now.generation),
      below(usually.width, now.width),
    );
    const isDegraded = lost > 0.5;
    if (!isDegraded && !suspected) {
      if (now.generation !== undefined) this.#generation.add(now.generation);
      if (now.width !== undefined) this.#width.add(now.width);
    }
    if (isUnknown(usually)) return undecidedDetection;
    if (!isDegraded) return normalDetection;
    const share =
      ratio(now.width, usually.width) *
      2 ** ((now.generation ?? 0) - (usually.generation ?? now.generation ?? 0));
    return {
      verdict: true,
      evidence: () => ({
        seen: share,
        expected: 1,
        unit: "ratio",
        sigmas: lost / 0.1,
        says: `Its PCIe link runs at ${describeLink(now)} while it works, where ${describeLink(usually)} is usual: ${digits(share * 100)} % of the speed.`,
        series: [
          selector(gpu.pcieLinkGeneration.name, device),
          selector(gpu.pcieLinkWidth.name, device),
          selector(gpu.pcieReplays.name, device),
        ],
      }),
    };
  }
}

const isUnknown = ({ generation, width }: LinkState): boolean =>
  generation === undefined && width === undefined;

const medianOf = (spread: Spread): number | undefined =>
  spread.count >= leastBlocks ? spread.median : undefined;

const below = (usually: number | undefined, now: number | undefined): number =>
  usually === undefined || now === undefined ? 0 : usually - now;

const ratio = (now: number | undefined, usually: number | undefined): number =>
  usually === undefined || now === undefined ? 1 : now / usually;

function describeLink({ generation, width }: LinkState): string {
  const lanes = width === undefined ? undefined : `${digits(width)} lanes`;
  if (generation === undefined) return lanes ?? "";
  return `generation ${digits(generation)}${lanes === undefined ? "" : ` with ${lanes}`}`;
}
