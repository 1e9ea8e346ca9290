/** Runs `gpulse replay`: a recording through the same pipe as any stream, at its own pace or another. */
import { type CommandIo, commandLog } from "../command/io.ts";
import { resolveSettings } from "../command/settings.ts";
import { GpulseError } from "../../base/error.ts";
import { systemClock } from "../../base/clock.ts";
import { PacedSource, type PaceOptions } from "../../pipeline/replay/paced.ts";
import { openSources, parseSource } from "../../sources/open.ts";
import type { SourceContext, StreamingSource } from "../../sources/source.ts";
import { runOpenPipe } from "../pipe/run-open-pipe.ts";
import type { StageHooks } from "../pipe/hooks.ts";
import { openPipe } from "../pipe/open.ts";
import { loadStreamRules, parseTuning } from "../pipe/options.ts";
import { resolveListenAddress } from "../pipe/run.ts";
import { boundOf, type ReplayFlags, sourceOf, speedOf } from "./options.ts";
import { progressLine, showProgress } from "./progress.ts";

export async function runReplay(
  file: string,
  flags: ReplayFlags,
  io: CommandIo,
  hooks: StageHooks = {},
): Promise<number> {
  const speed = speedOf(flags.speed);
  if (flags.now === true && speed === Infinity)
    throw new GpulseError(
      "USAGE",
      "--now needs a --speed: at max, times would run into the future.",
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
      ...bounds(start, end),
      clock: systemClock,
    });
  let paced: PacedSource | undefined;
  const opened = await openPipe(
    {
      to: flags.to ?? ["stdout:"],
      rules,
      tuning,
      settings,
      ...(hooks.spoolFolder !== undefined && { spoolFolder: hooks.spoolFolder }),
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
  const stopShowing = shows ? showProgress(io.stderr, state) : () => {};
  const began = performance.now();
  try {
    return await runOpenPipe(opened, io, log, {
      ...(tuning.for !== undefined && { forMs: tuning.for }),
      ...resolveListenAddress(flags),
    });
  } finally {
    stopShowing();
    const letters = opened.pipe.deadLetters;
    const aside = letters === 0 ? "" : `  ${letters.toLocaleString("en-US")} dead letters`;
    if ((start ?? end) !== undefined && state.frames === 0 && state.skipped > 0)
      log.warn("no frame lies between --start and --end", { leftOut: state.skipped });
    if (shows)
      io.stderr.write(`${progressLine(state, (performance.now() - began) / 1_000)}${aside}\n`);
  }
}

/** Unreadable rows are reported in the first round only. */
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
    "Only what was recorded can be replayed: a live source has no pace but its own, carry it with gpulse pipe.",
  );
}

function bounds(start: PaceOptions["start"], end: PaceOptions["end"]) {
  return { ...(start !== undefined && { start }), ...(end !== undefined && { end }) };
}
