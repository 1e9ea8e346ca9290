/** A detector receives the blocks of one GPU, learns its usual behaviour, and decides whether a block departs from it. */
import type { AnomalyDevice, AnomalyKind, Evidence } from "../anomaly.ts";
import type { ReadingBlock } from "../block.ts";
import type { EpisodeTimes, DepartureVerdict } from "../episode.ts";
import type { Peers } from "../peers.ts";
import type { Readings } from "../readings.ts";

export interface DetectorContext {
  readonly device: AnomalyDevice;
  readonly readings: Readings;
  readonly peers: Peers;
  /** The power scale that makes the heat and load of different cards comparable: the limit, or the highest power observed. */
  readonly scaleWatts: number;
}

export interface Detection {
  readonly verdict: DepartureVerdict;
  /** Present if the verdict is true. */
  readonly evidence?: () => Evidence;
}

export interface Detector {
  readonly kind: AnomalyKind;
  readonly times: EpisodeTimes;
  /** `suspected`: an episode is active or may be, so the block must not be learned as usual. */
  see(block: ReadingBlock, around: DetectorContext, suspected: boolean): Detection;
  /** Called when the departure has become the new usual, or the GPU was unavailable. */
  restart?(): void;
}

export const undecidedDetection: Detection = { verdict: undefined };
export const normalDetection: Detection = { verdict: false };

/** A PromQL selector of one of the GPU's series. */
export const selector = (
  metric: string,
  { host, uuid }: Pick<AnomalyDevice, "host" | "uuid">,
  extra = "",
): string => `${metric}{host=${JSON.stringify(host)},uuid=${JSON.stringify(uuid)}${extra}}`;

export const digits = (value: number, places = 0): string => value.toFixed(places);
