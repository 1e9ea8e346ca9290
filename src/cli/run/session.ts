/** One run from its baseline to its file: owns the recorder, the parsed output, and the facts about the machine. */
import { cpus } from "node:os";
import { defined } from "../../base/defined.ts";
import { pause } from "../../base/retry.ts";
import type { CommandIo } from "../command/io.ts";
import type { Progress } from "../command/progress.ts";
import type { Settings } from "../command/settings.ts";
import { formatError } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import { systemClock } from "../../base/clock.ts";
import type { CommandResult, CommandOptions } from "../../runs/command/child.ts";
import {
  findPhase,
  LineReader,
  OutputLog,
  PhaseReader,
  WorkReader,
} from "../../runs/command/output.ts";
import { energyOf, powerKindOf } from "../../runs/energy.ts";
import { OwnTree, runVariable } from "../../runs/record/own-tree.ts";
import type { PartialRun } from "../../runs/record/partial.ts";
import { ProcessWatch } from "../../runs/record/processes.ts";
import { Recorder } from "../../runs/record/recorder.ts";
import { snapNow, verdictOf } from "../../runs/record/snapshots.ts";
import { WorkCounter } from "../../runs/record/work-counter.ts";
import type { Run, RunFile, RunOverhead, RunTrace, RunWork, RunSpan } from "../../runs/run.ts";
import type { BenchmarkResult } from "../../runs/results/result.ts";
import { type VisibleDevices, visibleDevices } from "../../runs/visible.ts";
import type { OpenSource } from "../../sources/open.ts";
import { hostFileAccess } from "../../machine/sysfs/file-access.ts";
import type { Snapshot } from "../../machine/snapshot.ts";
import type { HubClient } from "../hub-client.ts";
import type { RunFlags, RunCommandOptions } from "./options.ts";
import type { OtherHosts } from "./other-hosts.ts";
import { openRunSources } from "./sources.ts";

export interface RunSessionOptions {
  readonly id: string;
  readonly command: readonly string[];
  readonly options: RunCommandOptions;
  readonly flags: RunFlags;
  readonly settings: Settings;
  readonly io: CommandIo;
  readonly log: Log;
  readonly partial: PartialRun;
  readonly hub: HubClient | undefined;
}

/** Printed by `vllm bench serve` after its first request, which is a test. */
const measurementStarts = /Starting main benchmark run/;
/** Bytes of output stored in the file; further output is still passed through. */
const maxOutputBytes = 4 * 1024 * 1024;
/** How long a snapshot waits for readings; those missing by then are recorded as not read. */
const readingDeadlineMs = 5_000;

export async function openRunSession(given: RunSessionOptions): Promise<RunSession> {
  return new RunSession(given, await openRunSources(given.settings, given.log));
}

export class RunSession {
  readonly #given: RunSessionOptions;
  readonly #sources: readonly OpenSource[];
  readonly #visible: VisibleDevices;
  readonly #tree: OwnTree;
  readonly #processes: ProcessWatch;
  readonly #counter: WorkCounter | undefined;
  readonly #recorder: Recorder;
  readonly #phases: PhaseReader;
  readonly #work: WorkReader | undefined;
  readonly #output = new OutputLog(maxOutputBytes);
  readonly #lines: LineReader;
  #measured: RunOverhead["measured"];
  #baselineBefore: RunSpan | undefined;
  #before: Snapshot | undefined;
  #cpu = process.cpuUsage();
  #outputProblem: string | undefined;
  #measuredFromMs: number | undefined;
  #resultProblem: string | undefined;
  /** Number of phases that had begun when the measured one started. */
  #measuredPhase: number | undefined;

  constructor(given: RunSessionOptions, sources: readonly OpenSource[]) {
    const { id, options, settings, io, partial, log } = given;
    this.#given = given;
    this.#sources = sources;
    this.#visible = visibleDevices(
      sources.flatMap(({ source }) => source.devices()),
      io.env,
    );
    const uuids = this.#visible.devices.map(({ uuid }) => uuid);
    this.#tree = new OwnTree(settings.procfs, id);
    this.#processes = new ProcessWatch(uuids, (pid) => this.#tree.has(pid));
    this.#counter =
      options.workMetric === undefined ? undefined : new WorkCounter(options.workMetric);
    this.#recorder = new Recorder({
      ...this.#recording(uuids),
      partial,
      processes: this.#processes,
      ...(this.#counter === undefined ? {} : { work: this.#counter }),
      log,
    });
    this.#phases = new PhaseReader(options.phasePattern);
    this.#work =
      options.workPattern === undefined
        ? undefined
        : new WorkReader(options.workPattern, options.workTake);
    this.#lines = new LineReader((line) => {
      this.#phases.line(line, Date.now());
      if (measurementStarts.test(line)) this.#measuredFromMs ??= Date.now();
      this.#work?.line(line, this.#phases.count);
    });
  }

  #recording(uuids: readonly string[]) {
    const { settings, options, log } = this.#given;
    return {
      sources: this.#sources,
      uuids,
      host: settings.hostName,
      samplingMs: options.samplingMs,
      precision: settings.activity.precision,
      clock: systemClock,
      log,
    };
  }

  /** Does everything up to the start of the command. */
  async prepare(
    signal: AbortSignal,
    say: (line: string) => void,
    progress: Progress,
  ): Promise<void> {
    const { options, flags, partial } = this.#given;
    if (this.#visible.devices.length === 0)
      say("no GPU found: only time and output are recorded. Run gpulse doctor to see why");
    if (flags.measureOverhead === true) {
      say("measuring the overhead of recording: ten half-second loops, five of them recorded");
      const { measureOverhead } = await import("./overhead.ts");
      const uuids = this.#visible.devices.map(({ uuid }) => uuid);
      this.#measured = await measureOverhead(async () => {
        const recorder = new Recorder(this.#recording(uuids));
        return {
          start: () => recorder.start(readingDeadlineMs),
          stop: async () => recorder.pause(),
        };
      }, progress);
    }
    await this.#recorder.start(readingDeadlineMs);
    const fromMs = Date.now();
    await this.#baseline("idle baseline before", progress, signal);
    if (signal.aborted) return;
    if (options.baselineMs > 0) this.#baselineBefore = [fromMs, Date.now()];
    this.#before = await this.#snap();
    if (this.#before !== undefined)
      partial.put("snapshot-before.json", `${JSON.stringify(this.#before)}\n`);
    partial.describe(this.#draft(Date.now()));
    this.#cpu = process.cpuUsage();
  }

  /** Shows progress, since nothing else happens; while the command runs, the terminal belongs to it. */
  async #baseline(name: string, progress: Progress, signal?: AbortSignal): Promise<void> {
    const { baselineMs, samplingMs } = this.#given.options;
    const beganMs = Date.now();
    const stop = progress.watch(() => ({
      name,
      fraction: (Date.now() - beganMs) / Math.max(1, baselineMs),
      count: Math.floor((Date.now() - beganMs) / samplingMs),
      unit: "sample",
    }));
    await pause(baselineMs, signal);
    stop();
  }

  childOptions(): CommandOptions {
    const { command, flags, io, options, id } = this.#given;
    const { workPattern, phasePattern, measurePhase, result } = options;
    const reads = (workPattern ?? phasePattern ?? measurePhase ?? result) !== undefined;
    // Standard output is reserved for the JSON document.
    const stdout = flags.json === true ? io.stderr : io.stdout;
    const onTerminal = stdout.isTTY === true;
    return {
      command,
      env: { GPULSE_JOB: id, ...io.env, [runVariable]: id },
      // The command inherits the terminal, unless its output has to be parsed.
      capture: flags.json === true || (flags.capture ?? (reads || !onTerminal)),
      stdout,
      stderr: io.stderr,
      onChunk: (chunk, stream) => {
        this.#lines.chunk(chunk, stream);
        const kept = this.#output.add(chunk);
        if (kept.length > 0) this.#keepOutput(kept);
      },
      signals: process,
      atTerminal: process.stdin.isTTY || onTerminal,
      nowMs: Date.now,
      monotonicMs: () => performance.now(),
      onStart: (pid) => this.#tree.add(pid),
    };
  }

  /** A full disk must not end the command. */
  #keepOutput(chunk: Buffer): void {
    if (this.#outputProblem !== undefined) return;
    try {
      this.#given.partial.output(chunk);
    } catch (thrown) {
      this.#outputProblem = formatError(thrown);
    }
  }

  async finish(end: CommandResult, progress: Progress): Promise<RunFile> {
    const { options, hub } = this.#given;
    const used = process.cpuUsage(this.#cpu);
    this.#lines.end();
    const afterFromMs = Date.now();
    // Skips the final baseline after an interruption by the user.
    const waits = end.signal === undefined && options.baselineMs > 0;
    if (waits) await this.#baseline("idle baseline after", progress);
    // Waits for one more sample, which includes power and energy up to the end.
    else await pause(Math.max(250, 2 * options.samplingMs));
    const baselineAfter: RunSpan | undefined = waits ? [afterFromMs, Date.now()] : undefined;
    // Slow readings may be a second old and static ones a minute: they would be from before the command ended.
    await this.#recorder.refresh(readingDeadlineMs);
    const after = await this.#snap();
    await this.close();
    const span: RunSpan = [end.startedMs, end.endedMs];
    const whole: RunSpan = [this.#baselineBefore?.[0] ?? span[0], baselineAfter?.[1] ?? span[1]];
    const others = hub === undefined ? undefined : await this.#others(hub, whole);
    const trace: RunTrace = new Map([...(others?.trace ?? []), ...this.#recorder.trace()]);
    const result = await this.#resultOf(span);
    const work = await this.#measuredWork(span, result);
    const foreign = this.#processes.foreign(span);
    const run: Run = {
      ...this.#draft(end.startedMs),
      endedMs: end.endedMs,
      durationSeconds: end.durationSeconds,
      exitCode: end.exitCode,
      complete: true,
      ...defined({ signal: end.signal, work }),
      ...(result !== undefined && {
        result: {
          tool: result.tool,
          ...defined({ window: result.window }),
          figures: result.figures,
        },
      }),
      phases: [...this.#phases.phases(end.endedMs), ...(result?.phases ?? [])],
      visible: {
        ...this.#visible.visibility,
        ...defined({ parts: this.#before?.visibility }),
      },
      devices: this.#devices(trace, result?.window ?? span, others),
      baselines: defined({ before: this.#baselineBefore, after: baselineAfter }),
      overhead: this.#overhead(used, end),
      verdict: verdictOf({
        before: this.#before,
        after,
        foreign,
        startedMs: end.startedMs,
        idleAfter: waits,
      }),
      hosts: [
        { host: this.#given.settings.hostName, clockDifferenceMs: 0 },
        ...(others?.hosts ?? []),
      ],
      notes: [...this.#notes(trace, end, work), ...(result?.notes ?? []), ...(others?.notes ?? [])],
    };
    return { run, trace, before: this.#before, after, output: this.#output.bytes() };
  }

  async close(): Promise<void> {
    await this.#recorder.stop();
  }

  async #snap(): Promise<Snapshot | undefined> {
    const { settings, io, log } = this.#given;
    try {
      return await snapNow(
        {
          fresh: () => this.#recorder.latest.at(Date.now()),
          devices: this.#visible.devices,
          machine: {
            procfs: settings.procfs,
            sysfs: settings.sysfs,
            fileAccess: hostFileAccess,
            architecture: process.arch,
            env: io.env,
          },
          host: settings.hostName,
          version: io.version,
        },
        Date.now(),
      );
    } catch (thrown) {
      log.warn("no snapshot could be taken: the run will have no evidence of the system", {
        error: formatError(thrown),
      });
      return undefined;
    }
  }

  async #others(hub: HubClient, whole: RunSpan): Promise<OtherHosts | undefined> {
    const { options } = this.#given;
    if (options.hosts.length === 0) return undefined;
    const { readOtherHosts, settleMs } = await import("./other-hosts.ts");
    await pause(settleMs);
    return readOtherHosts(hub, options.hosts, whole, Date.now);
  }

  /** If the phase to measure was not found, no work is reported: it would be that of another period. */
  async #measuredWork(
    span: RunSpan,
    result: BenchmarkResult | undefined,
  ): Promise<RunWork | undefined> {
    if (this.#given.options.measurePhase === undefined)
      return result === undefined ? this.#workOf(span) : this.#workOfResult(result);
    return result?.window === undefined ? undefined : this.#workOf(result.window);
  }

  async #resultOf(span: RunSpan): Promise<BenchmarkResult | undefined> {
    const { result: file, measurePhase: name } = this.#given.options;
    if (name !== undefined) {
      const found = findPhase(this.#phases.phases(span[1]), name);
      if (!("problem" in found)) {
        this.#measuredPhase = found.count;
        return {
          tool: `phase ${name} of the output`,
          window: [found.startMs, found.endMs],
          work: [],
          phases: [],
          figures: [],
          notes: [],
        };
      }
      this.#resultProblem = `${found.problem.slice(0, 1).toUpperCase()}${found.problem.slice(1)}. Energy and averages are of the whole command, and throughput is not known.`;
      return undefined;
    }
    if (file === undefined) return undefined;
    const { readBenchmarkResult } = await import("../../runs/results/read.ts");
    const read = await readBenchmarkResult(file, span, this.#measuredFromMs);
    if (!("problem" in read)) return read;
    this.#resultProblem = `The result ${file} is not used: ${read.problem}. Throughput is not known.`;
    return undefined;
  }

  /** Work in the unit named by the user, or the first unit of the result. */
  #workOfResult({ tool, work }: BenchmarkResult): RunWork | undefined {
    const { unit } = this.#given.options;
    const found = work.find((one) => unit === undefined || one.unit === unit);
    if (found === undefined)
      this.#resultProblem = `${tool} counts no ${unit}, only ${work.map((one) => one.unit).join(", ")}: throughput is not known.`;
    return found === undefined ? undefined : { ...found, from: "result" };
  }

  async #workOf(span: RunSpan): Promise<RunWork | undefined> {
    const { options, hub } = this.#given;
    const { unit = "units" } = options;
    if (options.work !== undefined) return { amount: options.work, unit, from: "flag" };
    const read =
      this.#measuredPhase === undefined
        ? this.#work?.amount()
        : this.#work?.amountIn(this.#measuredPhase);
    if (read !== undefined) return { amount: read, unit, from: "pattern" };
    if (options.workMetric === undefined) return undefined;
    const counted =
      this.#counter?.amount(span) ??
      (hub === undefined
        ? undefined
        : await (await import("./other-hosts.ts")).workOnHub(hub, options.workMetric, span));
    return counted === undefined ? undefined : { amount: counted, unit, from: "metric" };
  }

  #devices(trace: RunTrace, span: RunSpan, others: OtherHosts | undefined): Run["devices"] {
    const { settings, options } = this.#given;
    const own = this.#visible.devices.map((device) => ({ ...device, host: settings.hostName }));
    return [...own, ...(others?.devices ?? [])].map((device) => ({
      ...device,
      power: powerKindOf(trace.get(device.uuid)),
      energy: energyOf(trace.get(device.uuid), span, options.samplingMs),
    }));
  }

  #overhead(used: NodeJS.CpuUsage, end: CommandResult): RunOverhead {
    const cpuSeconds = (used.user + used.system) / 1e6;
    const { samplingMs } = this.#given.options;
    return {
      cpuSeconds,
      shareOfCore: cpuSeconds / Math.max(0.001, end.durationSeconds),
      cores: cpus().length,
      ...defined({ measured: this.#measured }),
      samplesWanted: Math.floor((end.durationSeconds * 1_000) / samplingMs),
      samplesTaken: this.#recorder.samplesBetween(end.startedMs, end.endedMs),
    };
  }

  #notes(trace: RunTrace, end: CommandResult, work: RunWork | undefined): string[] {
    const { options } = this.#given;
    const notes = [...this.#visible.notes, ...this.#recorder.problems()];
    const asked = (options.workPattern ?? options.workMetric) !== undefined;
    if (asked && work === undefined)
      notes.push("The requested work was never reported: throughput is not known.");
    if (this.#resultProblem !== undefined) notes.push(this.#resultProblem);
    if (!this.#processes.hasReports && this.#visible.devices.length > 0)
      notes.push(
        "No source reports the processes on these GPUs: another process would not have been noticed.",
      );
    if (this.#output.cutBytes > 0)
      notes.push(
        `The last ${this.#output.cutBytes} bytes of the output are not stored in this file.`,
      );
    if (this.#outputProblem !== undefined)
      notes.push(`The output could not be written aside (${this.#outputProblem}).`);
    const averaged = [...trace.values()].some(
      ({ columns }) => columns.has("gpu_power_watts") && !columns.has("gpu_power_instant_watts"),
    );
    if (averaged && end.durationSeconds < 60)
      notes.push(
        "Power is reported as an average that lags about a second: the integrated energy of a run this short is off by up to a second's worth.",
      );
    return notes;
  }

  /** The run before it has ended, for recovery after an interruption. */
  #draft(startedMs: number): Run {
    const { id, options, settings, command, io } = this.#given;
    return {
      format: "gpulse-run",
      version: 1,
      id,
      label: options.label,
      host: settings.hostName,
      command,
      startedMs,
      endedMs: startedMs,
      durationSeconds: 0,
      exitCode: null,
      complete: false,
      phases: [],
      devices: this.#visible.devices.map((device) => ({
        ...device,
        host: settings.hostName,
        power: "none",
        energy: {},
      })),
      visible: this.#visible.visibility,
      samplingMs: options.samplingMs,
      baselines: defined({ before: this.#baselineBefore }),
      overhead: {
        cpuSeconds: 0,
        shareOfCore: 0,
        cores: cpus().length,
        samplesWanted: 0,
        samplesTaken: 0,
      },
      verdict: { verdict: "unknown", changes: [], foreign: [] },
      hosts: [{ host: settings.hostName, clockDifferenceMs: 0 }],
      notes: [],
      gpulse: io.version,
    };
  }
}
