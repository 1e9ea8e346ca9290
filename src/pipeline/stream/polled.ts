/** A polled source in a pipe: hardware does not wait, so what the sinks are too slow for is lost, the oldest first, counted. */
import type { Log } from "../../base/log.ts";
import type { Tier } from "../../model/catalogue/index.ts";
import type { Frame } from "../../model/frame.ts";
import type { PolledSource } from "../../sources/source.ts";
import type { Clock } from "../../base/clock.ts";
import { tierIntervals } from "../pipeline.ts";
import { Poller } from "../poller.ts";
import { SourceDownFrames } from "../source-down.ts";
import { type SourceState, tierState } from "../source-state.ts";

export interface PolledOptions {
  readonly intervalMs: number;
  readonly host: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly take: (frame: Frame, tier: Tier) => Promise<void>;
}

const queueFrames = 1_024;

/** Resolves when the signal aborts; rejects with what `take` rejects with. */
export async function pollInto(
  source: PolledSource,
  state: SourceState,
  { intervalMs, host, clock, log, signal, take }: PolledOptions,
): Promise<void> {
  const queue: { frame: Frame; tier: Tier }[] = [];
  let wake = (): void => {};
  let lost = 0;
  const intervalsMs = tierIntervals(intervalMs);
  const poller = new Poller(source, state, {
    intervalsMs,
    deadlineMs: Math.min(10_000, Math.max(1_000, 2 * intervalMs)),
    freshForMs: (tier) => Math.max(5_000, 3 * intervalsMs[tier]),
    silence: new SourceDownFrames(host),
    clock,
    log,
    deliver: (frame, tier) => {
      if (queue.length >= queueFrames) {
        queue.shift();
        tierState(state, tier).skippedTicks++;
        if (lost++ === 0)
          log.error("the sinks are too slow for this source: its oldest frames are lost", {
            source: state.name,
          });
      }
      queue.push({ frame, tier });
      wake();
    },
  });
  poller.start();
  signal.addEventListener("abort", () => wake(), { once: true });
  try {
    while (!signal.aborted) {
      const next = queue.shift();
      if (next === undefined) await new Promise<void>((resolve) => (wake = resolve));
      else await take(next.frame, next.tier);
    }
  } finally {
    poller.stop();
  }
}
