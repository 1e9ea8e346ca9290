/** What a feed is: something that goes on telling about GPUs until it is stopped, and says when it cannot. */
import type { WireFleet } from "../../view/live/protocol.ts";
import type { FeedUpdate, Link } from "../model/picture.ts";

export interface FeedEvents {
  hear(heard: FeedUpdate): void;
  /** Curves from before. */
  recall(fleet: WireFleet): void;
  link(link: Link): void;
}

export interface Feed {
  start(): void;
  stop(): Promise<void>;
}

const FIRST_MS = 500;
const LONGEST_MS = 10_000;

/** How long to wait before the next try; `random` is in [0, 1). */
export function retryDelayMs(failures: number, random: number): number {
  const full = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.max(0, failures - 1));
  return Math.round(full * (0.75 + random * 0.25));
}
