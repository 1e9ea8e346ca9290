/** Runs streaming sources: validates and counts their frames, and restarts a failed stream with an increasing back-off. */
import { formatError } from "../base/error.ts";
import { loopTurns } from "../base/fair/loop-turns.ts";
import { limitDebug, silentLog, type Log } from "../base/log.ts";
import { backoffMs, pause } from "../base/retry.ts";
import type { Frame } from "../model/frame.ts";
import type { Emit, StreamFrameInfo, StreamingSource } from "../sources/source.ts";
import type { Clock } from "../base/clock.ts";
import { DeviceLog } from "./device-log.ts";
import { countReadings, findFrameProblem, type SourceState, tierState } from "./source-state.ts";

export interface StreamRunOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Logs each frame at debug level, and rejected readings; without it nothing is logged. */
  readonly log?: Log;
  /** Resolves when there is room for the next frame. */
  readonly deliver: (frame: Frame, info: StreamFrameInfo) => Promise<void>;
  /** Passed to the source's `run`. */
  readonly checkpoint?: () => Promise<void>;
  /** Called with an invalid frame; without it the frame is only counted. */
  readonly reject?: (problem: string, info: StreamFrameInfo) => Promise<void>;
}

/** Runs the stream once. Resolves when it has ended or the signal aborts; rejects with its error. */
export async function runStream(
  source: StreamingSource,
  state: SourceState,
  { clock, signal, log = silentLog, deliver, checkpoint, reject }: StreamRunOptions,
): Promise<void> {
  const frameLog = limitDebug(log, () => clock.monotonicMs());
  const deviceLog = new DeviceLog({ state, log, nowMs: () => clock.monotonicMs() });
  const counts = tierState(state, "stream");
  if (source.rejectedRows !== undefined) state.rejectedRows = () => source.rejectedRows?.() ?? 0;
  try {
    const emit: Emit = async (frame, info = {}) => {
      // Yields to timers and signals, which a stream that never waits would block, such as a full-speed replay into a
      // spool.
      await loopTurns.turn("ingest");
      const problem = findFrameProblem(frame);
      counts.success = problem === undefined;
      if (problem !== undefined) {
        counts.reads.invalid++;
        counts.problem = problem;
        return reject?.(problem, info);
      }
      counts.reads.ok++;
      counts.lastSuccessMs = clock.nowMs();
      counts.readings = countReadings(frame);
      delete counts.problem;
      // A stream's frames may be old, so only their rejected readings are logged.
      deviceLog.observeRejected(frame, info.devices ?? source.devices());
      if (frameLog.isDebug === true)
        frameLog.debug("stream frame", {
          source: state.name,
          series: frame.layout.series.length,
          readings: counts.readings.present,
        });
      await deliver(frame, info);
    };
    await source.run(emit, signal, checkpoint);
    state.ended = true;
  } catch (thrown) {
    if (signal.aborted) return;
    counts.reads.failed++;
    counts.success = false;
    counts.problem = formatError(thrown);
    throw thrown;
  }
}

/** Runs the stream until it ends or the signal aborts, restarting it after an error. */
export async function keepStreaming(
  source: StreamingSource,
  state: SourceState,
  options: StreamRunOptions & { readonly log: Log },
): Promise<void> {
  const { clock, signal, log } = options;
  for (let attempt = 0; !signal.aborted; attempt++) {
    try {
      return await runStream(source, state, options);
    } catch (thrown) {
      const pauseMs = backoffMs(attempt, () => 1, { firstMs: 1_000, longestMs: 30_000 });
      log.warn("stream failed, restarting", {
        source: state.name,
        error: formatError(thrown),
        pauseMs,
      });
      await pause(pauseMs, signal, clock);
    }
  }
}
