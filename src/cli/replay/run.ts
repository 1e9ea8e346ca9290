/** Runs `gpulse replay`: sends a recording through a pipe, at its original speed or another. */
import { type CommandIo, commandLog } from "../command/io.ts";
import { Progress } from "../command/progress.ts";
import { countOf } from "../command/quantity.ts";
import { resolveSettings } from "../command/settings.ts";
import { defined } from "../../base/defined.ts";
import { GpulseError } from "../../base/error.ts";
import { systemClock } from "../../base/clock.ts";
import { PacedSource } from "../../pipeline/replay/paced.ts";
import { openSources, parseSource } from "../../sources/open.ts";
import type { SourceContext, StreamingSource } from "../../sources/source.ts";
import { checkJsonOutput, pipeSummary, runOpenPipe } from "../pipe/run-open-pipe.ts";
import type { StageHooks } from "../pipe/hooks.ts";
import { openPipe } from "../pipe/open.ts";
import { loadStreamRules, parseTuning } from "../pipe/options.ts";
import { resolveListenAddress } from "../pipe/run.ts";
import { boundOf, type ReplayFlags, sourceOf, speedOf } from "./options.ts";
import { boundedLengthMs, fileOf, recordingLengthMs, replayStep } from "./progress.ts";

export async function runReplay(
  file: string,
  flags: ReplayFlags,
  io: CommandIo,
  hooks: StageHooks = {},
): Promise<number> {
  checkJsonOutput(flags);
  const speed = speedOf(flags.speed);
  if (flags.now === true && speed === Infinity)
    throw new GpulseError(
      "USAGE",
      "--now needs a finite --speed: at max, timestamps would be in the future. Pass --speed with a number.",
    );
  const [start, end] = [boundOf("--start", flags.start), boundOf("--end", flags.end)];
  const tuning = parseTuning(flags);
  const rules = hooks.rules ?? (await loadStreamRules(flags, io.env));
  const settings = await resolveSettings("agent", flags, io.env);
  const log = commandLog(io, settings.logLevel, false);
  const spec = sourceOf(file, flags);
  const name = parseSource(spec).definition.name;
  const pace = (context: SourceContext): PacedSource =>
    new PacedSource({
      open: (round) => openRecording(spec, context, round),
      speed,
      loop: flags.loop === true,
      now: flags.now === true,
      ...defined({ start, end }),
      clock: systemClock,
    });
  let paced: PacedSource | undefined;
  const opened = await openPipe(
    {
      to: flags.to ?? ["stdout:"],
      rules,
      tuning,
      settings,
      ...defined({ spoolFolder: hooks.spoolFolder }),
      openSources: async (context) => {
        paced = pace(context);
        return [{ name, source: paced }];
      },
    },
    io,
    log,
  );
  if (paced === undefined) throw new Error("BUG: a replay has no source");
  hooks.onPipe?.(opened.pipe);
  const { state } = paced;
  const shows = hooks.progress !== false && flags.to !== undefined;
  const progress = new Progress(io.stderr, () => performance.now(), flags.json === true);
  const lengthMs = boundedLengthMs(recordingLengthMs(fileOf(file)), start, end);
  const stopShowing = shows ? progress.watch(() => replayStep(state, lengthMs)) : () => {};
  const summarize = pipeSummary(flags, opened.pipe, io);
  try {
    const code = await runOpenPipe(opened, io, log, {
      ...defined({ forMs: tuning.for }),
      ...resolveListenAddress(flags),
    });
    summarize({ complete: code === 0, rounds: state.round + 1, skippedFrames: state.skipped });
    return code;
  } finally {
    stopShowing();
    const letters = opened.pipe.deadLetters;
    const aside = letters === 0 ? "" : `  ${countOf(letters, "dead letter")}`;
    if ((start ?? end) !== undefined && state.frames === 0 && state.skipped > 0)
      log.warn("no frame lies between --start and --end", { leftOut: state.skipped });
    if (shows && flags.json !== true)
      io.stderr.write(`${progress.line(replayStep(state, undefined))}${aside}\n`);
  }
}

/** Invalid rows are reported in the first round only. */
async function openRecording(
  spec: Parameters<typeof parseSource>[0],
  { reject, ...context }: SourceContext,
  round: number,
): Promise<StreamingSource> {
  const letters = round === 0 && reject !== undefined ? { reject } : {};
  const [opened] = await openSources([spec], { ...context, ...letters });
  if (opened?.source.shape === "streaming") return opened.source;
  await opened?.source.close();
  throw new GpulseError(
    "USAGE",
    "A live source cannot be replayed. Send it to sinks with gpulse pipe.",
  );
}
