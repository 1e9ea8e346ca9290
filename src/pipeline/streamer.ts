/** Runs one streaming source to its end, starting it again with growing pauses when it fails. */
import { formatError } from "../base/error.ts";
import type { Log } from "../base/log.ts";
import type { Frame } from "../model/frame.ts";
import type { StreamingSource } from "../sources/source.ts";
import type { Clock } from "../base/clock.ts";
import { countReadings, type SourceState, tierState } from "./source-state.ts";
import { findFrameProblem } from "./validate.ts";

export interface StreamerOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Resolves when there is room for the next frame. */
  readonly deliver: (frame: Frame) => Promise<void>;
  /** A stream read for a one-off job ends at its first error instead of being started again. */
  readonly restart: boolean;
}

const longestPauseMs = 30_000;

/** Resolves when the stream has ended or the signal aborts; rejects with its error where it is not to be restarted. */
export async function runStream(
  source: StreamingSource,
  state: SourceState,
  options: StreamerOptions,
  signal: AbortSignal,
): Promise<void> {
  const counts = tierState(state, "stream");
  if (source.rejectedRows !== undefined) state.rejectedRows = () => source.rejectedRows?.() ?? 0;
  const emit = async (frame: Frame): Promise<void> => {
    const problem = findFrameProblem(frame);
    counts.success = problem === undefined;
    if (problem !== undefined) {
      counts.reads.invalid++;
      counts.problem = problem;
      return;
    }
    counts.reads.ok++;
    counts.lastSuccessMs = options.clock.nowMs();
    counts.readings = countReadings(frame);
    delete counts.problem;
    await options.deliver(frame);
  };
  for (let attempt = 0; !signal.aborted; attempt++) {
    try {
      await source.run(emit, signal);
      state.ended = true;
      return;
    } catch (thrown) {
      if (signal.aborted) return;
      counts.reads.failed++;
      counts.success = false;
      counts.problem = formatError(thrown);
      if (!options.restart) throw thrown;
      const pauseMs = Math.min(longestPauseMs, 1_000 * 2 ** Math.min(attempt, 5));
      options.log.warn("stream failed, starting it again", {
        source: state.name,
        error: counts.problem ?? "",
        pauseMs,
      });
      await pause(options.clock, pauseMs, signal);
    }
  }
}

async function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      cancel();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const cancel = clock.after(delayMs, done);
    signal.addEventListener("abort", done, { once: true });
  });
}
