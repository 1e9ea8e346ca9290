/**
 * Runs `gpulse run`: snapshot, idle baseline, the command while recording the GPUs, idle baseline, snapshot, one file. The exit
 * code is the command's; a problem with the recording is logged to standard error and never changes it.
 */
import { randomBytes } from "node:crypto";
import path from "node:path";
import { clientAccess } from "../command/client.ts";
import { type CommandIo, commandLog } from "../command/io.ts";
import { Progress } from "../command/progress.ts";
import { resolveSettings } from "../command/settings.ts";
import { GpulseError, formatError } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import { type CommandResult, CommandStartError, runChild } from "../../runs/command/child.ts";
import { packRun, runExtension, writeRunBytes } from "../../runs/file/file.ts";
import { PartialRun, partialExtension } from "../../runs/record/partial.ts";
import type { Run, RunFile } from "../../runs/run.ts";
import { HubClient } from "../hub-client.ts";
import { parseRunOptions, type RunFlags } from "./options.ts";
import { openRunSession, type RunSession, type RunSessionOptions } from "./session.ts";
import { RepeatedRuns, type SavedRun } from "./repeats.ts";
import { formatRunSummary } from "./summary.ts";

const beforeStart = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

export async function runRun(
  command: readonly string[],
  flags: RunFlags,
  io: CommandIo,
): Promise<number> {
  const options = parseRunOptions(flags, command);
  const settings = await resolveSettings(
    "agent",
    { ...flags, logLevel: flags.logLevel ?? "warn" },
    io.env,
  );
  const log = commandLog(io, settings.logLevel, false);
  const hub =
    flags.withHub === undefined
      ? undefined
      : new HubClient(flags.withHub, clientAccess(flags, io.env));
  const say = (line: string): void => {
    if (flags.quiet !== true && flags.json !== true) io.stderr.write(`gpulse: ${line}\n`);
  };
  const given = { command, options, flags, settings, io, log, hub };
  if (options.repeats === 1) {
    const { code, saved } = await runOnce(given, flags.out, say);
    if (flags.json === true && saved !== undefined) printJson(io, jsonOf(saved));
    return code;
  }
  const repeated = new RepeatedRuns();
  let code = 0;
  for (let repeat = 1; repeat <= options.repeats && code === 0; repeat += 1) {
    say(`repeat ${repeat} of ${options.repeats}`);
    const one = await runOnce(given, numberedFile(flags.out, repeat), say);
    if (one.saved !== undefined) repeated.add(one.saved);
    code = one.code;
    if (code !== 0 && repeat < options.repeats)
      say(`repeat ${repeat} ended with ${code}: the other repeats are left out`);
  }
  for (const line of repeated.summary()) say(line);
  if (flags.json === true) printJson(io, repeated.json());
  return code;
}

interface RunResultCode {
  readonly code: number;
  /** Absent if nothing was recorded, or it could not be saved. */
  readonly saved?: SavedRun;
}

async function runOnce(
  given: Omit<RunSessionOptions, "id" | "partial">,
  out: string | undefined,
  say: (line: string) => void,
): Promise<RunResultCode> {
  const { options, flags, io, log } = given;
  const id = newId();
  const file = out ?? defaultFile(options.label, id, new Date());
  const partial = new PartialRun(`${file}${partialExtension}`);
  let session: RunSession | undefined;
  let started = false;
  try {
    session = await openRunSession({ ...given, id, partial });
    const progress = new Progress(io.stderr, Date.now, flags.json === true || flags.quiet === true);
    const stoppedWith = await prepare(session, say, progress);
    if (stoppedWith !== undefined) {
      await session.close();
      partial.close();
      partial.remove();
      return { code: stoppedWith };
    }
    started = true;
    const end = await runChild(session.childOptions());
    return await keep(session, end, { file, partial, say, log, flags, progress });
  } catch (thrown) {
    await session?.close();
    partial.close();
    // Once the command has started, partial data can be recovered; before that there is none.
    if (!started || thrown instanceof CommandStartError) partial.remove();
    if (!(thrown instanceof CommandStartError)) throw thrown;
    io.stderr.write(`gpulse: ${thrown.message}\n`);
    return { code: thrown.passCode };
  }
}

const jsonOf = ({ file, seal, made }: SavedRun): object => ({ file, seal, ...made.run });

const printJson = (io: CommandIo, value: object): void =>
  void io.stdout.write(`${JSON.stringify(value, null, 2)}\n`);

/** `a.gpulserun` → `a-2.gpulserun`: one file per repeat. */
function numberedFile(out: string | undefined, repeat: number): string | undefined {
  if (out === undefined) return undefined;
  const { dir, name, ext } = path.parse(out);
  return path.join(dir, `${name}-${repeat}${ext}`);
}

/** A signal during preparation stops the run before the command is started. */
async function prepare(
  session: RunSession,
  say: (line: string) => void,
  progress: Progress,
): Promise<number | undefined> {
  const abort = new AbortController();
  let code: number | undefined;
  const listeners = Object.entries(beforeStart).map(([signal, exit]) => {
    const listener = (): void => {
      code = exit;
      abort.abort();
    };
    process.on(signal, listener);
    return () => void process.off(signal, listener);
  });
  try {
    await session.prepare(abort.signal, say, progress);
    return code;
  } finally {
    for (const stop of listeners) stop();
  }
}

interface SaveContext {
  readonly file: string;
  readonly partial: PartialRun;
  readonly say: (line: string) => void;
  readonly log: Log;
  readonly flags: RunFlags;
  readonly progress: Progress;
}

/** Call when the command has ended: its exit code is returned even if saving the run fails. */
async function keep(
  session: RunSession,
  end: CommandResult,
  keeping: SaveContext,
): Promise<RunResultCode> {
  const { file, partial, say, log, flags, progress } = keeping;
  try {
    const made: RunFile = await session.finish(end, progress);
    partial.close();
    const { bytes, seal } = await packRun(made);
    await writeRunBytes(file, bytes);
    partial.remove();
    for (const line of formatRunSummary(made)) say(line);
    say(`saved to ${file} (seal ${seal.slice(0, 16)})`);
    const fails = flags.failOnChange === true && isSpoiled(made.run) && end.passCode === 0;
    return { code: fails ? 1 : end.passCode, saved: { file, seal, made } };
  } catch (thrown) {
    partial.close();
    log.error("the run could not be saved", { error: formatError(thrown) });
    say(
      `the recording is in ${partial.folder}. Recover it with gpulse runs recover ${partial.folder}`,
    );
    if (!(thrown instanceof GpulseError)) throw thrown;
    return { code: end.passCode };
  }
}

const isSpoiled = ({ verdict }: Run): boolean =>
  verdict.verdict === "changed" || verdict.verdict === "loaded";

/** Ids sort by time, and are unique across machines. */
export function newId(): string {
  return `${Date.now().toString(36)}-${randomBytes(6).toString("hex")}`;
}

export const defaultFolder = "gpulse-runs";

export function defaultFile(label: string, id: string, now: Date, folder = defaultFolder): string {
  const slug = label.replaceAll(/[^\w.-]+/g, "-").slice(0, 60);
  const time = now.toISOString().slice(0, 19).replaceAll(/[-:]/g, "");
  return path.join(folder, `${slug}-${time}-${id.slice(-4)}${runExtension}`);
}
