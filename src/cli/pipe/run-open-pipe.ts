/**
 * Runs an open pipe until its data ends, the time is over, or it is stopped. Shared by `pipe`, `replay` and the stages of a
 * pipeline file.
 */
import { GpulseError } from "../../base/error.ts";
import type { Pipe } from "../../pipeline/stream/pipe.ts";
import type { CommandIo } from "../command/io.ts";
import type { Log } from "../../base/log.ts";
import type { OpenPipe } from "./open.ts";
import { servePipe } from "./serve.ts";

export interface RunOpenPipeOptions {
  readonly forMs?: number;
  /** Listen address of its metrics; absent: not served. */
  readonly listen?: { readonly host: string; readonly port: number };
}

interface SummaryFlags {
  readonly json?: boolean;
  readonly to?: readonly string[];
}

/** Refuses to write frames and the summary to standard output together. */
export function checkJsonOutput({ json, to }: SummaryFlags): void {
  if (json === true && (to ?? ["stdout:"]).some((url) => url.startsWith("stdout")))
    throw new GpulseError(
      "USAGE",
      "--json prints a summary on standard output, where the frames go. Send the frames elsewhere with --to.",
    );
}

/** Returns a function that prints the summary if --json is set. */
export function pipeSummary(flags: SummaryFlags, pipe: Pipe, io: CommandIo) {
  const beganMs = performance.now();
  return (more: Readonly<Record<string, unknown>>): void => {
    if (flags.json !== true) return;
    const durationSeconds = (performance.now() - beganMs) / 1_000;
    const summary = {
      frames: pipe.frames,
      durationSeconds: Number(durationSeconds.toFixed(3)),
      framesPerSecond: Number((pipe.frames / Math.max(0.001, durationSeconds)).toFixed(3)),
      deadLetters: pipe.deadLetters,
      ...more,
    };
    io.stdout.write(`${JSON.stringify(summary, null, 2)}\n`);
  };
}

/** Returns the exit code: 0 if every frame was stored. */
export async function runOpenPipe(
  { pipe, sinks, unguard }: OpenPipe,
  io: CommandIo,
  log: Log,
  { forMs, listen }: RunOpenPipeOptions = {},
): Promise<number> {
  const stop = new AbortController();
  const end = (): void => stop.abort();
  void io.stopped().then(end);
  // `gpulse pipe … | head` closes standard output: a normal end, not an error.
  io.stdout.once("close", end).once("error", end);
  const timer = forMs === undefined ? undefined : setTimeout(end, forMs);
  const server =
    listen === undefined
      ? undefined
      : await servePipe({ pipe, sinks, version: io.version, log, ...listen });
  try {
    const { checkpointed, unread = 0 } = await pipe.run(stop.signal);
    if (!checkpointed)
      log.warn(
        "stopped before the sinks had everything: the rest is read again at the next start",
        {
          frames: pipe.uncommitted,
        },
      );
    if (unread > 0)
      log.error("records that arrived after the idle time are unread: start it again", {
        records: unread,
      });
    const refused = sinks.reduce(
      (sum, sink) => sum + (sink.shipping?.().ship.refusedSamples ?? 0),
      0,
    );
    if (refused > 0) log.error("receivers rejected samples permanently", { samples: refused });
    return checkpointed && unread === 0 && refused === 0 ? 0 : 1;
  } finally {
    clearTimeout(timer);
    io.stdout.off("close", end).off("error", end);
    server?.close();
    unguard();
  }
}
