/** A benchmark run as plain data, as stored in a `.gpulserun` file. No I/O and no derived values. */
import type { RunTrace } from "../formats/run/trace.ts";
import type { VisiblePart } from "../machine/snapshot.ts";
import type { Device } from "../model/device.ts";

export type { GpuTrace, RunTrace } from "../formats/run/trace.ts";

/** The newest version this program writes; it reads every one up to it. */
export const runVersion = 1;

export interface Run {
  readonly format: "gpulse-run";
  readonly version: 1;
  /** Unique per run: two runs with one id are copies of each other. */
  readonly id: string;
  /** What runs are grouped by: repeats of one configuration carry the same label. */
  readonly label: string;
  readonly host: string;
  /** Empty where no command was wrapped: `gpulse stress`. */
  readonly command: readonly string[];
  /** Of the command itself, on the clock of `host`; baselines lie outside. */
  readonly startedMs: number;
  readonly endedMs: number;
  /** `endedMs - startedMs` as a clock that never jumps has it. */
  readonly durationSeconds: number;
  /** Null where a signal ended it, or where nobody saw it end. */
  readonly exitCode: number | null;
  readonly signal?: string;
  /** False where the recorder was ended before the command: what is here is what it had written. */
  readonly complete: boolean;
  readonly work?: RunWork;
  /** What the benchmark wrote about itself (`--result`). */
  readonly result?: RunResult;
  readonly phases: readonly RunPhase[];
  /** What the command could see, and what another machine gave through the hub. */
  readonly devices: readonly RunDevice[];
  readonly visible: Visibility;
  /** Wanted time between two rows of one GPU. */
  readonly samplingMs: number;
  readonly baselines: { readonly before?: RunSpan; readonly after?: RunSpan };
  readonly overhead: RunOverhead;
  readonly verdict: RunVerdict;
  readonly hosts: readonly RunHost[];
  /** Sentences a reader of the numbers must know. */
  readonly notes: readonly string[];
  /** Which gpulse wrote it. */
  readonly gpulse: string;
}

export type RunSpan = readonly [fromMs: number, toMs: number];

export interface RunWork {
  readonly amount: number;
  readonly unit: string;
  readonly from: "flag" | "pattern" | "metric" | "result" | "simulator";
}

export interface RunResult {
  readonly tool: string;
  /** The part of the run that was measured: energy, rates and averages are of it alone. Absent where the tool says no time. */
  readonly window?: RunSpan;
  readonly figures: readonly {
    readonly name: string;
    readonly value: number | string;
    readonly unit: string;
  }[];
}

export interface RunPhase {
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
}

export interface RunDevice extends Device {
  readonly host: string;
  /** What `gpu_power_watts` of it means: `none` where nothing reports its power. */
  readonly power: PowerKind;
  /** From the first to the last instant of the command, or of the window of its result. */
  readonly energy: RunEnergy;
}

/** `chip` leaves out memory, regulators and fans: never compared with `board` as if they were one. */
export type PowerKind = "board" | "chip" | "none";

export interface RunEnergy {
  /** By the hardware's own counter. */
  readonly counterJoules?: number;
  /** By the power readings of the trace. */
  readonly integratedJoules?: number;
  /** Share of the run that the power readings cover. */
  readonly integratedShare?: number;
}

/** How the command's view of the GPUs was narrowed. */
export interface Visibility {
  /** The variables that were set, as they were. */
  readonly variables: Readonly<Record<string, string>>;
  /** uuids of the GPUs of the host that the command could not see. */
  readonly hidden: readonly string[];
  /** Which parts of the machine could be seen before the run. Files made before it was recorded have none. */
  readonly parts?: readonly VisiblePart[];
}

export interface RunOverhead {
  /** Processor time of the recorder while the command ran. */
  readonly cpuSeconds: number;
  /** The same over the command's duration: 0.02 is 2 % of one core. */
  readonly shareOfCore: number;
  /** Cores this machine has: what the share is of all of them follows. */
  readonly cores: number;
  /** By `--measure-overhead`: time of a fixed piece of work with the recorder over without, less 1. Absent where not measured. */
  readonly measured?: { readonly slowdownRatio: number; readonly noiseRatio: number };
  readonly samplesWanted: number;
  readonly samplesTaken: number;
}

export interface RunChange {
  /** Where in the snapshot: `gpus.GPU-….powerLimitWatts`. */
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
  readonly kind: "fact" | "reading" | "process";
  readonly sentence: string;
}

/** `unknown` where a snapshot is missing: nothing was proved. */
export interface RunVerdict {
  readonly verdict: "same" | "changed" | "loaded" | "unknown";
  readonly changes: readonly RunChange[];
  /** Facts that only one of the snapshots could read: neither the same nor changed. */
  readonly unproven?: readonly string[];
  /** Processes on a GPU of the run that are not of the command. */
  readonly foreign: readonly ForeignProcess[];
}

export interface ForeignProcess {
  readonly uuid: string;
  readonly pid: number;
  readonly name: string;
  /** First and last time it was seen. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly memoryBytes?: number;
  /** Whether it was already there when the command started. */
  readonly before: boolean;
}

export interface RunHost {
  readonly host: string;
  /** Its clock less that of the machine that recorded; absent where nobody knows it. */
  readonly clockDifferenceMs?: number;
}

export interface RunFile {
  readonly run: Run;
  readonly trace: RunTrace;
  /** As they stand in the file; undefined where it has none. */
  readonly before: unknown;
  readonly after: unknown;
  /** The command's output, cut at a limit. */
  readonly output: Uint8Array;
}

/** When the numbers of a run were measured: all of the command, or the window of its result. */
export const measuredSpan = ({ startedMs, endedMs, result }: Run): RunSpan =>
  result?.window ?? [startedMs, endedMs];

export function measuredSeconds({ durationSeconds, result }: Run): number {
  const window = result?.window;
  return window === undefined ? durationSeconds : (window[1] - window[0]) / 1_000;
}
