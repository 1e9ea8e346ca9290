/** What a detector is: it sees a block of one GPU, learns what is usual, and says whether this one is not. */
import type { AnomalyDevice, AnomalyKind, Evidence } from "../anomaly.ts";
import type { ReadingBlock } from "../block.ts";
import type { EpisodeTimes, DepartureVerdict } from "../episode.ts";
import type { Peers } from "../peers.ts";
import type { Readings } from "../readings.ts";

export interface DetectorContext {
  readonly device: AnomalyDevice;
  readonly readings: Readings;
  readonly peers: Peers;
  /** The power that makes heat and load of different cards comparable: the limit, or the most seen. */
  readonly scaleWatts: number;
}

export interface Detection {
  readonly verdict: DepartureVerdict;
  /** There where the verdict is true. */
  readonly evidence?: () => Evidence;
}

export interface Detector {
  readonly kind: AnomalyKind;
  readonly times: EpisodeTimes;
  /** `suspected`: an episode is on or may be, so what is seen must not become the usual. */
  see(block: ReadingBlock, around: DetectorContext, suspected: boolean): Detection;
  /** What it saw has been told as the new usual, or the GPU was away. */
  restart?(): void;
}

export const undecidedDetection: Detection = { verdict: undefined };
export const normalDetection: Detection = { verdict: false };

/** A PromQL selector of one of the GPU's series. */
export const selector = (metric: string, { host, uuid }: AnomalyDevice, extra = ""): string =>
  `${metric}{host=${JSON.stringify(host)},uuid=${JSON.stringify(uuid)}${extra}}`;

export const digits = (value: number, places = 0): string => value.toFixed(places);
