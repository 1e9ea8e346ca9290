/** Runs an open pipe until its data ends, the time is over, or it is asked to stop; what `pipe`, `replay` and a stage share. */
import type { CommandIo } from "../command/io.ts";
import type { Log } from "../../base/log.ts";
import type { OpenPipe } from "./open.ts";
import { servePipe } from "./serve.ts";

export interface RunOpenPipeOptions {
  readonly forMs?: number;
  /** Where its metrics are served; nowhere where absent. */
  readonly listen?: { readonly host: string; readonly port: number };
}

/** The exit code: 0 where everything that came is kept. */
export async function runOpenPipe(
  { pipe, sinks, unguard }: OpenPipe,
  io: CommandIo,
  log: Log,
  { forMs, listen }: RunOpenPipeOptions = {},
): Promise<number> {
  const stop = new AbortController();
  const end = (): void => stop.abort();
  void io.stopped().then(end);
  // `gpulse pipe … | head` closes our output: that is an end, not an error.
  io.stdout.once("close", end).once("error", end);
  const timer = forMs === undefined ? undefined : setTimeout(end, forMs);
  const server =
    listen === undefined
      ? undefined
      : await servePipe({ pipe, sinks, version: io.version, log, ...listen });
  try {
    const { checkpointed } = await pipe.run(stop.signal);
    if (!checkpointed)
      log.warn(
        "stopped before the sinks had everything: the rest is read again at the next start",
        {
          frames: pipe.uncommitted,
        },
      );
    const refused = sinks.reduce(
      (sum, sink) => sum + (sink.shipping?.().ship.refusedSamples ?? 0),
      0,
    );
    if (refused > 0) log.error("receivers refused samples for good", { samples: refused });
    return checkpointed && refused === 0 ? 0 : 1;
  } finally {
    clearTimeout(timer);
    io.stdout.off("close", end).off("error", end);
    server?.close();
    unguard();
  }
}
