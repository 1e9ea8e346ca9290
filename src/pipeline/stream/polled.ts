/**
 * Runs a polled source in a pipe. Hardware does not wait, so the oldest frames are dropped and counted if sinks are too
 * slow.
 */
import type { Log } from "../../base/log.ts";
import type { Tier } from "../../model/catalogue/index.ts";
import type { Frame } from "../../model/frame.ts";
import type { PolledSource } from "../../sources/source.ts";
import type { Clock } from "../../base/clock.ts";
import { Poller, pollerOptions } from "../poller.ts";
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

/** Resolves when the signal aborts; rejects if `take` rejects. */
export async function pollInto(
  source: PolledSource,
  state: SourceState,
  options: PolledOptions,
): Promise<void> {
  const { log, signal, take } = options;
  const queue: { frame: Frame; tier: Tier }[] = [];
  let wake = (): void => {};
  let lost = 0;
  const poller = new Poller(source, state, {
    ...pollerOptions(options),
    deliver: (frame, tier) => {
      if (queue.length >= queueFrames) {
        queue.shift();
        tierState(state, tier).skippedTicks++;
        if (lost++ === 0)
          log.error("sinks are too slow, dropping the oldest frames", {
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
