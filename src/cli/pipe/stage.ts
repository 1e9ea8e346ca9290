/** Runs one stage of a pipeline file with the same code as its command. */
import { readFileSync } from "node:fs";
import path from "node:path";
import type { CommandIo } from "../command/io.ts";
import { parseToExit } from "../command/parse.ts";
import { GpulseError, formatError, systemCode } from "../../base/error.ts";
import { openFiles } from "../../net/objects/open.ts";
import type { StageHooks } from "./hooks.ts";
import type { Stage } from "./pipeline-file.ts";
import type { PipeFlags } from "./run.ts";

/** Command-line options of the whole pipeline. */
export type SharedFlags = Pick<
  PipeFlags,
  "hostName" | "data" | "config" | "logLevel" | "grace" | "allowOutbound" | "privateOutbound"
>;

export interface StageRun extends StageHooks {
  readonly stage: Stage;
  readonly shared: SharedFlags;
  readonly io: CommandIo;
  /** Reports a short result. */
  readonly note: (text: string) => void;
}

/** Returns the exit code. */
export async function runStage(run: StageRun): Promise<number> {
  switch (run.stage.kind) {
    case "upload":
      return upload(run);
    case "replay":
      return replay(run);
    case "pipe":
      return pipe(run);
    case "analyze":
      return analyze(run);
  }
}

async function upload({ stage, io, note }: StageRun): Promise<number> {
  const file = stage.given.upload ?? "";
  const bytes = readUpload(file);
  for (const address of stage.given.to ?? []) {
    const store = await openFiles(address, io.env);
    await store.write(path.basename(file), bytes);
  }
  note(`${bytes.length.toLocaleString("en-US")} bytes`);
  return 0;
}

function readUpload(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (thrown) {
    const why =
      systemCode(thrown) === "ENOENT"
        ? "does not exist"
        : `cannot be read (${formatError(thrown)})`;
    throw new GpulseError("FILE_UNREADABLE", `The file ${file} ${why}.`, { cause: thrown });
  }
}

async function replay(run: StageRun): Promise<number> {
  const { runReplay } = await import("../replay/run.ts");
  const { speed, loop, now, start, end, flags = {} } = run.stage.given;
  const more = Object.fromEntries(
    Object.entries(flags).map(([name, value]) => [camel(name), String(value)]),
  );
  return runReplay(
    run.stage.given.replay ?? "",
    {
      ...more,
      ...streamFlags(run),
      ...(speed !== undefined && { speed }),
      ...(loop !== undefined && { loop }),
      ...(now !== undefined && { now }),
      ...(start !== undefined && { start }),
      ...(end !== undefined && { end }),
    },
    run.io,
    hooksOf(run),
  );
}

async function pipe(run: StageRun): Promise<number> {
  const { runPipe } = await import("./run.ts");
  const { from = [], until_idle: untilIdle } = run.stage.given;
  return runPipe(
    { ...streamFlags(run), from, ...(untilIdle !== undefined && { untilIdle }) },
    run.io,
    hooksOf(run),
  );
}

/** Parsed by the command line's own code, so that a stage and the command behave the same. */
async function analyze({ stage, io }: StageRun): Promise<number> {
  const { buildProgram } = await import("../program.ts");
  const { analyze: analyses = [], input, output, flags = {} } = stage.given;
  const { program, exitCode } = buildProgram(io);
  const parsed = await parseToExit(program, [
    "analyze",
    ...analyses,
    ...(input === undefined ? [] : ["--input", input]),
    ...(output === undefined ? [] : ["--output", output]),
    ...Object.entries(flags).flatMap(([name, value]) =>
      value === true ? [`--${name}`] : value === false ? [] : [`--${name}`, String(value)],
    ),
  ]);
  return parsed === 0 ? exitCode() : parsed;
}

function streamFlags({ stage, shared }: StageRun): PipeFlags {
  const { to = [], checkpoint, checkpoint_frames: checkpointFrames } = stage.given;
  return {
    ...shared,
    to,
    ...(checkpoint !== undefined && { checkpoint }),
    ...(checkpointFrames !== undefined && { checkpointFrames }),
  };
}

function hooksOf({ stage, onPipe }: StageRun): StageHooks {
  const { thresholds, tags, columns, windows, unusual } = stage.given;
  const rules = {
    thresholds: thresholds ?? {},
    tags: tags ?? {},
    columns: columns ?? {},
    windows: windows ?? [],
    ...(unusual !== undefined && { unusual }),
  };
  return {
    progress: false,
    spoolFolder: stage.name,
    rules,
    ...(onPipe !== undefined && { onPipe }),
  };
}

const camel = (name: string): string =>
  name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
