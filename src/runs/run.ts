/** A benchmark run as plain data, as stored in a `.gpulserun` file. No I/O and no derived values. */
import type { RunTrace } from "../formats/run/trace.ts";
import type { VisiblePart } from "../machine/snapshot.ts";
import type { Device } from "../model/device.ts";

export type { GpuTrace, RunTrace } from "../formats/run/trace.ts";

/** The newest version that this program writes; it reads every version up to it. */
export const runVersion = 1;

export interface Run {
  readonly format: "gpulse-run";
  readonly version: 1;
  /** Unique per run: two runs with the same id are copies of each other. */
  readonly id: string;
  /** The label by which runs are grouped: repeats of one configuration share it. */
  readonly label: string;
  readonly host: string;
  /** Empty if no command was wrapped: `gpulse stress`. */
  readonly command: readonly string[];
  /** Of the command itself, by the clock of `host`; baselines are outside. */
  readonly startedMs: number;
  readonly endedMs: number;
  /** `endedMs - startedMs` by a monotonic clock. */
  readonly durationSeconds: number;
  /** Null if a signal ended it, or if its end was not observed. */
  readonly exitCode: number | null;
  readonly signal?: string;
  /** False if the recorder was ended before the command: this is what it had written by then. */
  readonly complete: boolean;
  readonly work?: RunWork;
  /** The benchmark's own report (`--result`). */
  readonly result?: RunResult;
  readonly phases: readonly RunPhase[];
  /** The devices visible to the command, and those of other machines from the hub. */
  readonly devices: readonly RunDevice[];
  readonly visible: Visibility;
  /** The configured time between two rows of one GPU. */
  readonly samplingMs: number;
  readonly baselines: { readonly before?: RunSpan; readonly after?: RunSpan };
  readonly overhead: RunOverhead;
  readonly verdict: RunVerdict;
  readonly hosts: readonly RunHost[];
  /** Caveats for readers of the numbers, one sentence each. */
  readonly notes: readonly string[];
  /** The version of gpulse that wrote it. */
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
  /** The measured part of the run, to which energy, rates and averages apply. Absent if the tool reports no time. */
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
  /** The meaning of its `gpu_power_watts`: `none` if no power is reported. */
  readonly power: PowerKind;
  /** From the first to the last instant of the command, or of its result's window. */
  readonly energy: RunEnergy;
}

/** `chip` excludes memory, regulators and fans: never comparable with `board`. */
export type PowerKind = "board" | "chip" | "none";

export interface RunEnergy {
  /** From the hardware's counter. */
  readonly counterJoules?: number;
  /** From the power readings of the trace. */
  readonly integratedJoules?: number;
  /** The share of the run that the power readings cover. */
  readonly integratedShare?: number;
}

/** How environment variables restricted the command's view of the GPUs. */
export interface Visibility {
  /** The variables that were set, unchanged. */
  readonly variables: Readonly<Record<string, string>>;
  /** uuids of the host's GPUs that were hidden from the command. */
  readonly hidden: readonly string[];
  /** The readable parts of the machine before the run. Absent in older files. */
  readonly parts?: readonly VisiblePart[];
}

export interface RunOverhead {
  /** Processor time of the recorder while the command ran. */
  readonly cpuSeconds: number;
  /** The same relative to the command's duration: 0.02 is 2 % of one core. */
  readonly shareOfCore: number;
  /** Cores of this machine, to convert the share to all cores. */
  readonly cores: number;
  /**
   * From `--measure-overhead`: time of a fixed workload with the recorder relative to without, less 1. Absent if not measured.
   */
  readonly measured?: { readonly slowdownRatio: number; readonly noiseRatio: number };
  readonly samplesWanted: number;
  readonly samplesTaken: number;
}

export interface RunChange {
  /** The path in the snapshot: `gpus.GPU-….powerLimitWatts`. */
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
  readonly kind: "fact" | "reading" | "process";
  readonly sentence: string;
}

/** `unknown` if a snapshot is missing: nothing was proved. */
export interface RunVerdict {
  readonly verdict: "same" | "changed" | "loaded" | "unknown";
  readonly changes: readonly RunChange[];
  /** Facts that only one of the snapshots could read: neither the same nor changed. */
  readonly unproven?: readonly string[];
  /** Processes on a GPU of the run that do not belong to the command. */
  readonly foreign: readonly ForeignProcess[];
}

export interface ForeignProcess {
  readonly uuid: string;
  readonly pid: number;
  readonly name: string;
  /** First and last time it was observed. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly memoryBytes?: number;
  /** True if it was already there when the command started. */
  readonly before: boolean;
}

export interface RunHost {
  readonly host: string;
  /** Its clock less that of the recording machine; absent if unknown. */
  readonly clockDifferenceMs?: number;
}

export interface RunFile {
  readonly run: Run;
  readonly trace: RunTrace;
  /** Unparsed, as in the file; undefined if absent. */
  readonly before: unknown;
  readonly after: unknown;
  /** The command's output, cut at a limit. */
  readonly output: Uint8Array;
}

/** The measured time of a run: the whole command, or the window of its result. */
export const measuredSpan = ({ startedMs, endedMs, result }: Run): RunSpan =>
  result?.window ?? [startedMs, endedMs];

export function measuredSeconds({ durationSeconds, result }: Run): number {
  const window = result?.window;
  return window === undefined ? durationSeconds : (window[1] - window[0]) / 1_000;
}
