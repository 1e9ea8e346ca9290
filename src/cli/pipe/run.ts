/** Runs `gpulse pipe`. A failing stream ends the command with its error: a partial transfer must not look complete. */
import { type CommandIo, commandLog } from "../command/io.ts";
import { Progress } from "../command/progress.ts";
import { type FlagValues, resolveSettings } from "../command/settings.ts";
import { checkValue } from "../../config/check.ts";
import { port as portField } from "../../config/fields.ts";
import { defined } from "../../base/defined.ts";
import { GpulseError } from "../../base/error.ts";
import { checkJsonOutput, pipeSummary, runOpenPipe } from "./run-open-pipe.ts";
import type { StageHooks } from "./hooks.ts";
import { openNamed, openPipe } from "./open.ts";
import { lagRecords, pipeStep } from "./progress.ts";
import { loadStreamRules, parseTuning, type RuleFlags, type TuningFlags } from "./options.ts";

export interface PipeFlags extends FlagValues, TuningFlags, RuleFlags {
  readonly json?: boolean;
  readonly from?: readonly string[];
  readonly file?: string;
  readonly stage?: readonly string[];
  readonly state?: string;
  readonly again?: boolean;
}

export async function runPipe(
  flags: PipeFlags,
  io: CommandIo,
  hooks: StageHooks = {},
): Promise<number> {
  if (flags.file !== undefined) {
    const { runPipelineFile } = await import("./pipeline-run.ts");
    return runPipelineFile(flags.file, flags, io);
  }
  if (flags.from === undefined)
    throw new GpulseError(
      "USAGE",
      "gpulse pipe needs a source. Pass --from, such as --from sim:8, or a pipeline file with -f.",
    );
  checkJsonOutput(flags);
  const tuning = parseTuning(flags);
  const rules = hooks.rules ?? (await loadStreamRules(flags, io.env));
  const settings = await resolveSettings("agent", { ...flags, source: flags.from }, io.env);
  const log = commandLog(io, settings.logLevel, false);
  const opened = await openPipe(
    {
      to: flags.to ?? ["stdout:"],
      rules,
      tuning,
      settings,
      ...defined({ spoolFolder: hooks.spoolFolder }),
      openSources: (context) => openNamed(settings.sources, context),
    },
    io,
    log,
  );
  hooks.onPipe?.(opened.pipe);
  const { pipe } = opened;
  const summarize = pipeSummary(flags, pipe, io);
  // No progress line if frames go to standard output, or if a pipeline file shows its own table.
  const shows = hooks.progress !== false && flags.to !== undefined;
  const progress = new Progress(io.stderr, () => performance.now(), flags.json === true);
  const hasEnd =
    tuning.untilIdle !== undefined || flags.from.every((url) => /[?&]until=end\b/.test(url));
  const stopShowing = shows ? progress.watch(() => pipeStep(pipe, hasEnd)) : () => {};
  try {
    const code = await runOpenPipe(opened, io, log, {
      ...defined({ forMs: tuning.for }),
      ...resolveListenAddress(flags),
    });
    summarize({ complete: code === 0, ...defined({ lagRecords: lagRecords(pipe) }) });
    return code;
  } finally {
    stopShowing();
    if (shows && flags.json !== true) io.stderr.write(`${progress.line(pipeStep(pipe, false))}\n`);
  }
}

/** Loopback by default, and only if a port is given. */
export function resolveListenAddress(flags: Pick<FlagValues, "port" | "host">) {
  if (flags.port === undefined) return {};
  const checked = checkValue(portField(), flags.port);
  if (!checked.ok)
    throw new GpulseError("USAGE", `--port ${checked.problems[0]?.sentence ?? "is not a port."}`);
  return { listen: { host: flags.host ?? "127.0.0.1", port: checked.value } };
}
