/** The hub's pipes: a list on disk, with one process per running pipe. Started and stopped with the hub. */
import { rmSync } from "node:fs";
import path from "node:path";
import { GpulseError } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import { StateMap } from "../../base/state/state-map.ts";
import { collectPipes } from "./self-metrics.ts";
import type { CollectMetrics } from "../../model/self-frames.ts";
import { PipeRun } from "./run.ts";
import { collectSecrets, findPlainSecret, redactUrl } from "./secrets.ts";
import {
  maxPipes,
  parseStoredPipe,
  pipeArguments,
  type PipeSpec,
  type StoredPipe,
} from "./spec.ts";

export interface PipesOptions {
  readonly dataDir: string;
  readonly hostName: string;
  readonly program: readonly string[];
  /** Flags that restrict the addresses a pipe may contact; empty if it may contact the same as the hub. */
  readonly outbound?: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  readonly nowMs: () => number;
  /** Validates sources, sinks and speed as the command line does. @throws GpulseError with its error message. */
  readonly check: (pipe: PipeSpec) => Promise<void>;
  readonly pauseMs?: (failures: number) => number | undefined;
  readonly pollMs?: number;
  readonly graceMs?: number;
}

const longestPauseMs = 60_000;
const maxFailures = 20;
const pollMs = 2_000;
const graceMs = 15_000;
/** Options that execute or load a program of the caller's choice, and a source that wraps another. */
const refusedKeys = ["smi", "library"];
const refusedSchemes = ["fault", "stdout"];

const growingPauseMs = (failures: number): number | undefined =>
  failures >= maxFailures ? undefined : Math.min(longestPauseMs, 1_000 * 2 ** (failures - 1));

export class Pipes {
  readonly #options: PipesOptions;
  readonly #stored: StateMap<StoredPipe>;
  readonly #runs = new Map<string, PipeRun>();
  #next = 1;
  #closed = false;

  constructor(options: PipesOptions) {
    this.#options = options;
    this.#stored = new StateMap(path.join(options.dataDir, "pipes", "pipes.log"), {
      log: options.log,
      parse: parseStoredPipe,
      maxEntries: maxPipes,
    });
    for (const [id, pipe] of this.#stored.entries()) {
      this.#next = Math.max(this.#next, Number(id) + 1);
      const run = this.#runOf(id, pipe);
      if (pipe.wanted === "running") run.start();
      else if (pipe.done === true) run.state = "done";
    }
  }

  ids(): readonly string[] {
    return [...this.#stored.entries()].map(([id]) => id);
  }

  /** Updates the counters of every running pipe. */
  async refresh(): Promise<void> {
    await Promise.all([...this.#runs.values()].map((run) => run.read()));
  }

  /** A pipe without its secrets, for display. Undefined if there is none. */
  shown(id: string) {
    const [pipe, run] = [this.#stored.get(id), this.#runs.get(id)];
    if (pipe === undefined || run === undefined) return undefined;
    const { name, kind, options, wanted } = pipe;
    const counts = run.counts;
    const problem = run.lastProblem;
    const isPast = kind === "replay" && options.now !== true;
    return {
      id,
      name,
      kind,
      from: pipe.from.map(redactUrl),
      to: pipe.to.map(redactUrl),
      options,
      wanted,
      state: run.state,
      since: new Date(run.sinceMs).toISOString(),
      restarts: run.restarts,
      frames: counts?.frames ?? null,
      deadLetters: counts?.deadLetters ?? null,
      // Samples of a recording are old by design, so a replay reports how far it is behind schedule instead.
      lagSeconds: (isPast ? run.behindSeconds : counts?.lagSeconds) ?? null,
      lagRecords: counts?.lagRecords ?? null,
      trouble:
        problem === undefined
          ? null
          : { text: problem.text, at: new Date(problem.atMs).toISOString() },
    };
  }

  /** @throws GpulseError if the pipe is invalid. */
  async add(wanted: PipeSpec): Promise<string> {
    this.#refuse(wanted);
    await this.#options.check(wanted);
    // Another request may have added one meanwhile.
    this.#refuse(wanted);
    const id = String(this.#next++);
    const kept: StoredPipe = { ...wanted, wanted: "running" };
    this.#stored.put(id, kept);
    const run = this.#runOf(id, kept);
    if (!this.#closed) run.start();
    return id;
  }

  start(id: string): void {
    this.#want(id, "running");
    if (!this.#closed) this.#runs.get(id)?.start();
  }

  /** Resolves when its process has exited. */
  async stop(id: string): Promise<void> {
    this.#want(id, "stopped");
    await this.#runs.get(id)?.stop();
  }

  /** Removes the pipe together with its unsent data. */
  async remove(id: string): Promise<void> {
    // Removed from the list first, so that it cannot be started again while it stops.
    this.#stored.delete(id);
    const run = this.#runs.get(id);
    await run?.stop();
    this.#runs.delete(id);
    rmSync(this.#folderOf(id), { recursive: true, force: true });
  }

  readonly selfMetrics: CollectMetrics = (put) => {
    const pipes = [...this.#runs].map(([id, { samples }]) => ({
      name: this.#stored.get(id)?.name ?? id,
      samples,
    }));
    collectPipes(pipes, put);
  };

  /** Stops every process; the list stays readable, and the desired state of each pipe is unchanged. */
  async halt(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#runs.values()].map((run) => run.stop()));
  }

  async close(): Promise<void> {
    await this.halt();
    this.#stored.close();
  }

  #want(id: string, wanted: StoredPipe["wanted"], done = false): void {
    const pipe = this.#stored.get(id);
    if (pipe === undefined) throw new Error(`BUG: there is no pipe ${id}`);
    const { done: _before, ...rest } = pipe;
    this.#stored.put(id, { ...rest, wanted, ...(done && { done }) });
  }

  #runOf(id: string, pipe: StoredPipe): PipeRun {
    const { program, env, log, nowMs, hostName, outbound = [] } = this.#options;
    const hidden = collectSecrets([...pipe.from, ...pipe.to], env);
    const run = new PipeRun({
      program,
      args: pipeArguments(pipe, { dataDir: this.#folderOf(id), hostName, outbound }),
      env,
      hide: (text) => hidden.hide(text),
      nowMs,
      log,
      name: pipe.name,
      pollMs: this.#options.pollMs ?? pollMs,
      graceMs: this.#options.graceMs ?? graceMs,
      pauseMs: this.#options.pauseMs ?? growingPauseMs,
      onDone: () => {
        if (!this.#closed && this.#stored.has(id)) this.#want(id, "stopped", true);
      },
    });
    this.#runs.set(id, run);
    return run;
  }

  #folderOf(id: string): string {
    return path.join(this.#options.dataDir, "pipes", id);
  }

  #refuse({ name, kind, from, to, options }: PipeSpec): void {
    const wrong = (sentence: string): never => {
      throw new GpulseError("USAGE", sentence);
    };
    if (this.#stored.size >= maxPipes)
      wrong(`A hub keeps ${maxPipes} pipes at most: remove one first.`);
    if ([...this.#stored.values()].some((pipe) => pipe.name === name))
      wrong(`There is a pipe "${name}" already: give this one another name.`);
    if (kind === "replay" && from.length > 1) wrong("A replay reads one recording.");
    if (kind === "pipe" && Object.keys(options).length > 0)
      wrong("speed, loop and now are options of a replay: omit them, or make it a replay.");
    for (const url of [...from, ...to]) {
      const secret = findPlainSecret(url);
      if (secret !== undefined)
        wrong(
          `In "${redactUrl(url)}" ${secret} is in plain text: give it as \${VARIABLE} of the hub's environment or as file:PATH.`,
        );
      const [scheme = ""] = url.split(":", 1);
      const query = url.split("?").slice(1).join("?");
      if (refusedSchemes.includes(scheme))
        wrong(`A pipe of the hub takes no ${scheme}: run it on the command line with gpulse pipe.`);
      const key = refusedKeys.find((one) => new URLSearchParams(query).has(one));
      if (key !== undefined)
        wrong(`"${key}" names a program to load: give it on the command line with gpulse pipe.`);
    }
  }
}
