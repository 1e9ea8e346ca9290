/** Opens a pipe's sinks and sources. Sinks first: they store the sources' dead letters. */
import path from "node:path";
import { sourceContext } from "../../agent/run.ts";
import type { CommandIo } from "../command/io.ts";
import { guardOutbound } from "../command/outbound.ts";
import type { Settings } from "../command/settings.ts";
import { sinkContext } from "../command/sink-context.ts";
import { growYoungGeneration } from "../../base/heap.ts";
import type { Log } from "../../base/log.ts";
import { systemClock } from "../../base/clock.ts";
import type { NamedSource } from "../../pipeline/pipeline.ts";
import type { Sink } from "../../pipeline/sink.ts";
import { DeadLetters } from "../../pipeline/stream/dead-letters.ts";
import { Pipe } from "../../pipeline/stream/pipe.ts";
import { createProcessing, type StreamRules } from "../../pipeline/tags/options.ts";
import { createActivity } from "../../pipeline/transforms/activity.ts";
import { createDerive } from "../../pipeline/transforms/derive.ts";
import { openSink } from "../../sinks/open.ts";
import { openSources, resolveAuto, type SourceSpec } from "../../sources/open.ts";
import type { SourceContext } from "../../sources/source.ts";
import type { PipeTuning } from "./options.ts";

export interface PipeWork {
  readonly to: readonly string[];
  readonly rules: StreamRules;
  readonly tuning: PipeTuning;
  readonly settings: Settings;
  /** Subfolder of the spool folder for sinks with a queue on disk. */
  readonly spoolFolder?: string;
  readonly openSources: (context: SourceContext) => Promise<readonly NamedSource[]>;
}

export interface OpenPipe {
  readonly pipe: Pipe;
  readonly sinks: readonly Sink[];
  /** Removes the outbound guard of this process when the pipe ends. */
  readonly unguard: () => void;
}

export async function openPipe(work: PipeWork, io: CommandIo, log: Log): Promise<OpenPipe> {
  const { settings, tuning } = work;
  // A message stays in memory until it is acknowledged: with a young generation of 1 MiB, a fifth of the time went into garbage
  // collection.
  growYoungGeneration();
  // Before anything is opened: an invalid rule must not leave a locked spool behind.
  const { transforms, companions } = createProcessing(work.rules);
  const spoolDir = path.join(settings.dataDir, "spool", work.spoolFolder ?? "");
  const context = { ...sinkContext(settings, io, log, spoolDir), waits: true };
  const sinks: Sink[] = [];
  const unguard = guardOutbound(settings.outbound, log, Date.now);
  try {
    for (const url of work.to) sinks.push(await openSink(url, context));
    const letters = new DeadLetters(sinks, log);
    const sources = await work.openSources({
      ...sourceContext(settings, log),
      reject: letters.reject,
    });
    const pipe = new Pipe({
      sources,
      transforms: [createDerive(), createActivity(settings.activity), ...transforms],
      companions,
      sinks,
      letters,
      intervalMs: settings.intervalMs,
      host: settings.hostName,
      clock: systemClock,
      log,
      checkpointFrames: tuning.checkpointFrames,
      checkpointMs: tuning.checkpoint,
      graceMs: tuning.grace,
      ...(tuning.untilIdle !== undefined && { idleMs: tuning.untilIdle }),
    });
    return { pipe, sinks, unguard };
  } catch (thrown) {
    for (const sink of sinks) await sink.close();
    unguard();
    throw thrown;
  }
}

/** Opens the sources; `auto` is replaced by those of this machine. */
export async function openNamed(specs: readonly SourceSpec[], context: SourceContext) {
  return openSources(await resolveAuto(specs, context), context);
}
