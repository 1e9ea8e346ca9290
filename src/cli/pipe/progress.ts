/** The progress of a pipe: frames transferred, records left to read, and dead letters. */
import type { Pipe } from "../../pipeline/stream/pipe.ts";
import type { ProgressStep } from "../command/progress.ts";
import { countOf } from "../command/quantity.ts";

type PipeCounts = Pick<Pipe, "frames" | "deadLetters" | "uncommitted" | "unread" | "lag">;

/** Formats `50 %  1,234 frames  10/s  lag 1,234 records  2 dead letters  1m left`; the percentage only if the data ends. */
export function pipeStep(pipe: PipeCounts, hasEnd: boolean): ProgressStep {
  const { frames, deadLetters, uncommitted } = pipe;
  const [unread, lag] = [pipe.unread(), lagRecords(pipe)];
  const handled = frames + deadLetters;
  return {
    name: "",
    fraction:
      hasEnd && unread !== undefined && handled + unread > 0
        ? handled / (handled + unread)
        : undefined,
    count: frames,
    unit: "frame",
    notes: [
      lag === undefined ? undefined : `lag ${countOf(lag, "record")}`,
      uncommitted > 0 ? `${countOf(uncommitted, "frame")} to store` : undefined,
      deadLetters > 0 ? countOf(deadLetters, "dead letter") : undefined,
    ].filter((text) => text !== undefined),
  };
}

/** Number of uncommitted records; undefined if no source reports it. */
export function lagRecords(pipe: Pick<Pipe, "lag">): number | undefined {
  const lags = pipe.lag();
  return lags.length === 0 ? undefined : lags.reduce((sum, [, { records }]) => sum + records, 0);
}
