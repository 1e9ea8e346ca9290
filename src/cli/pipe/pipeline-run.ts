/** Runs a pipeline file: each stage once its dependencies are complete, independent stages in parallel; completed stages are skipped. */
import { defined } from "../../base/defined.ts";
import type { CommandIo } from "../command/io.ts";
import { errorCodes } from "../../base/codes.ts";
import { GpulseError, formatError } from "../../base/error.ts";
import { type StageRow, StageTable } from "./stage-table.ts";
import { loadPipeline, type PipelineFile, type Stage } from "./pipeline-file.ts";
import { PipelineState } from "./pipeline-state.ts";
import type { PipeFlags } from "./run.ts";
import { runStage, type SharedFlags } from "./stage.ts";

export async function runPipelineFile(
  file: string,
  flags: PipeFlags,
  io: CommandIo,
): Promise<number> {
  if (flags.from !== undefined || flags.to !== undefined)
    throw new GpulseError(
      "USAGE",
      "The stages of a pipeline file define sources and sinks. Remove --from and --to.",
    );
  const pipeline = await loadPipeline(file, io.env);
  const chosen = chooseStages(pipeline, flags.stage);
  const state = new PipelineState(flags.state ?? `${file}.state.json`, flags.again === true);
  const isAlone = flags.stage !== undefined;
  const { hostName, data, config, logLevel, grace, allowOutbound, privateOutbound } = flags;
  const ours = { hostName, data, config, logLevel, grace, allowOutbound, privateOutbound };
  const shared = defined(ours);
  const run = new PipelineRun(chosen, state, shared, io, isAlone);
  const code = await run.run();
  if (flags.json === true)
    io.stdout.write(`${JSON.stringify({ stages: run.summary() }, null, 2)}\n`);
  return code;
}

function chooseStages({ stages }: PipelineFile, wanted: readonly string[] | undefined) {
  if (wanted === undefined) return stages;
  return wanted.map((name) => {
    const found = stages.find((stage) => stage.name === name);
    if (found !== undefined) return found;
    const names = stages.map((stage) => stage.name).join(", ");
    throw new GpulseError("USAGE", `There is no stage "${name}". Use one of ${names}.`);
  });
}

class PipelineRun {
  readonly #stages: readonly Stage[];
  readonly #state: PipelineState;
  readonly #shared: SharedFlags;
  readonly #io: CommandIo;
  /** Stages named on the command line run even if complete, without waiting for dependencies. */
  readonly #isAlone: boolean;
  readonly #board: StageTable;
  readonly #stop = new AbortController();
  readonly #running = new Map<string, Promise<void>>();
  #wasAsked = false;
  #exitCode = 0;

  constructor(
    stages: readonly Stage[],
    state: PipelineState,
    shared: SharedFlags,
    io: CommandIo,
    isAlone: boolean,
  ) {
    this.#stages = stages;
    this.#state = state;
    this.#shared = shared;
    this.#io = io;
    this.#isAlone = isAlone;
    const rows = stages.map((stage): StageRow => {
      const standing = !isAlone && state.isDone(stage) ? "done before" : "waiting";
      return { name: stage.name, kind: stage.kind, standing };
    });
    this.#board = new StageTable(rows, io.stderr, () => Date.now());
  }

  async run(): Promise<number> {
    if (this.#board.rows.every(({ standing }) => standing === "done before")) {
      this.#io.stderr.write("Every stage is done. Run with --again to start over.\n");
      return 0;
    }
    void this.#untilAsked();
    this.#board.start();
    try {
      for (;;) {
        this.#startReady();
        if (this.#running.size === 0) break;
        await Promise.race(this.#running.values());
      }
    } finally {
      this.#board.stop();
    }
    return this.#exitCode;
  }

  summary() {
    return this.#board.rows.map(({ name, kind, standing, pipe, note }) => ({
      name,
      kind,
      status: standing,
      ...(pipe !== undefined && { frames: pipe.frames, deadLetters: pipe.deadLetters }),
      ...defined({ note }),
    }));
  }

  async #untilAsked(): Promise<void> {
    await this.#io.stopped();
    this.#wasAsked = true;
    this.#stop.abort();
  }

  #startReady(): void {
    if (this.#stop.signal.aborted) return;
    const over = new Set(
      this.#board.rows
        .filter(({ standing }) => standing.startsWith("done"))
        .map(({ name }) => name),
    );
    for (const stage of this.#stages) {
      const row = this.#board.rows.find(({ name }) => name === stage.name);
      if (row?.standing !== "waiting") continue;
      if (!this.#isAlone && !stage.after.every((name) => over.has(name))) continue;
      const running = this.#runStage(stage, row).finally(() => this.#running.delete(stage.name));
      this.#running.set(stage.name, running);
    }
  }

  async #runStage(stage: Stage, row: StageRow): Promise<void> {
    this.#board.change(row, "running");
    const stderr = this.#board.streamFor(stage.name);
    try {
      const code = await runStage({
        stage,
        shared: this.#shared,
        io: { ...this.#io, stderr, stopped: () => this.#stopped() },
        onPipe: (pipe) => (row.pipe = pipe),
        note: (text) => (row.note = text),
      });
      if (code !== 0) this.#fail(row, code, `ended with ${code}`);
      else if (this.#stop.signal.aborted) this.#board.change(row, "stopped");
      else {
        this.#state.done(stage, Date.now());
        this.#board.change(row, "done");
      }
    } catch (thrown) {
      if (!(thrown instanceof GpulseError)) throw thrown;
      this.#fail(row, errorCodes[thrown.code].exit, formatError(thrown));
    }
  }

  /** A failure stops the other stages, each with a last checkpoint, so that their progress is retained. */
  #fail(row: StageRow, code: number, says: string): void {
    this.#board.change(row, "failed");
    this.#board.say(`gpulse: stage "${row.name}" failed: ${says}`);
    if (this.#exitCode === 0) this.#exitCode = code;
    if (!this.#wasAsked) this.#stop.abort();
  }

  #stopped(): Promise<string> {
    const { signal } = this.#stop;
    return new Promise((resolve) => {
      if (signal.aborted) resolve("stop");
      else signal.addEventListener("abort", () => resolve("stop"), { once: true });
    });
  }
}
