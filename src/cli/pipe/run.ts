/** Runs `gpulse pipe`. A stream that fails ends the command with its error: a pipe half done must not look done. */
import { sourceContext } from "../../agent/run.ts";
import type { CommandIo } from "../../command/io.ts";
import { commandLog } from "../../command/io.ts";
import type { FlagValues } from "../../command/settings.ts";
import { resolveSettings } from "../../command/settings.ts";
import { sinkContext } from "../../command/sink-context.ts";
import { checkValue } from "../../config/check.ts";
import { durationMs } from "../../config/fields.ts";
import { GpulseError } from "../../errors/error.ts";
import { systemClock } from "../../pipeline/clock.ts";
import { Pipeline } from "../../pipeline/pipeline.ts";
import { createDerive } from "../../pipeline/transforms/derive.ts";
import type { Sink } from "../../pipeline/sink.ts";
import { openSink } from "../../sinks/open.ts";
import { openSources } from "../../sources/open.ts";

export interface PipeFlags extends FlagValues {
  readonly from?: readonly string[];
  readonly for?: string;
}

export async function runPipe(flags: PipeFlags, io: CommandIo): Promise<number> {
  if (flags.from === undefined)
    throw new GpulseError(
      "USAGE",
      "gpulse pipe needs a source: name one with --from, such as --from sim:8.",
    );
  const limit =
    flags.for === undefined ? undefined : checkValue(durationMs(1, 31_536_000_000), flags.for);
  if (limit?.ok === false)
    throw new GpulseError("USAGE", `--for ${limit.problems[0]?.sentence ?? "is not understood."}`);
  const settings = await resolveSettings("agent", { ...flags, source: flags.from }, io.env);
  const log = commandLog(io, settings.logLevel, false);
  const context = sinkContext(settings, io, log);
  const sinks: Sink[] = [];
  for (const url of flags.to ?? ["stdout:"]) sinks.push(await openSink(url, context));
  const sources = await openSources(settings.sources, sourceContext(settings, log));
  const pipeline = new Pipeline({
    sources,
    transforms: [createDerive()],
    sinks,
    intervalMs: settings.intervalMs,
    host: settings.hostName,
    clock: systemClock,
    log,
    oneOff: true,
  });
  pipeline.start();
  const polled = sources.some(({ source }) => source.shape === "polled");
  const ends: Promise<unknown>[] = [io.stopped(), readerGone(io)];
  if (limit?.ok === true)
    ends.push(new Promise((resolve) => setTimeout(resolve, limit.value).unref()));
  await Promise.race([polled ? new Promise(() => {}) : pipeline.ended(), ...ends]);
  await pipeline.stop();
  return pipeline.outlets.some(({ counts }) => counts.failures > 0) ? 1 : 0;
}

/** `gpulse pipe … | head` closes our output: that is an end, not an error. */
function readerGone(io: CommandIo): Promise<void> {
  return new Promise((resolve) => io.stdout.once("close", resolve).once("error", () => resolve()));
}
