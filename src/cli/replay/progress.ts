/** How far a replay is: one line that is written over on a terminal, a line now and then elsewhere. */
import type { CommandIo } from "../command/io.ts";
import type { PaceState } from "../../pipeline/replay/paced.ts";

const everyMs = 500;
const lineEveryMs = 10_000;

/** Returns what ends it. */
export function showProgress(stderr: CommandIo["stderr"], state: PaceState): () => void {
  const beganMs = performance.now();
  const isTerminal = stderr.isTTY === true;
  const timer = setInterval(
    () => {
      const text = progressLine(state, (performance.now() - beganMs) / 1_000);
      stderr.write(isTerminal ? `\r\u001b[K${text}` : `${text}\n`);
    },
    isTerminal ? everyMs : lineEveryMs,
  );
  timer.unref();
  return () => {
    clearInterval(timer);
    if (isTerminal) stderr.write("\r\u001b[K");
  };
}

export function progressLine(state: PaceState, seconds: number): string {
  const { frames, round, timeMs, behindMs, roundMs, givenMs, skipped } = state;
  const rate = Math.round(frames / Math.max(0.001, seconds));
  const part =
    round === 0 || roundMs === undefined || roundMs === 0
      ? undefined
      : `${Math.floor(((givenMs % roundMs) / roundMs) * 100)} % of the round`;
  return [
    `${frames.toLocaleString("en-US")} frames`,
    `${rate.toLocaleString("en-US")}/s`,
    timeMs === undefined ? undefined : `at ${new Date(timeMs).toISOString()}`,
    round > 0 ? `round ${round + 1}` : undefined,
    part,
    behindMs > 1_000 ? `${(behindMs / 1_000).toFixed(1)} s behind` : undefined,
    skipped > 0 ? `${skipped.toLocaleString("en-US")} left out` : undefined,
  ]
    .filter((text) => text !== undefined)
    .join("  ");
}
