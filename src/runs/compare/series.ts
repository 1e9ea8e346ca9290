/** The input of a comparison: subjects, each with repeats of one measurement. Plain data from any source. */
import type { VisiblePart } from "../../machine/snapshot.ts";
import type { PowerKind } from "../run.ts";

export interface GpuSeries {
  readonly uuid: string;
  readonly model: string;
  readonly host: string;
  readonly simulated: boolean;
  readonly power: PowerKind;
  readonly timeMs: Float64Array;
  /** By the lake's column names; NaN if a row has no reading. */
  readonly columns: ReadonlyMap<string, Float64Array>;
  /** By the same names: the number of samples averaged in each row; absent if every row is one sample. */
  readonly counts?: ReadonlyMap<string, Float64Array>;
  /** From the recorder; if absent, computed from the columns. */
  readonly energy?: { readonly counterJoules?: number; readonly integratedJoules?: number };
}

export interface WorkAmount {
  readonly amount: number;
  readonly unit: string;
}

/** One repeat: a run, or a time range of a monitored GPU. */
export interface RunSeries {
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
  /** By a monotonic clock; if absent, end less start. */
  readonly durationSeconds?: number;
  readonly samplingMs: number;
  readonly gpus: readonly GpuSeries[];
  /** The work done, or why it is unknown. */
  readonly work: WorkAmount | { readonly why: string };
  /** The work rate over time, if it was recorded as a series. */
  readonly workRate?: {
    readonly timeMs: Float64Array;
    readonly values: Float64Array;
    /** The number of samples, if known and smaller than the number of values. */
    readonly readings: number;
  };
  /** A time range in which the GPUs were idle, before the run. */
  readonly baselineMs?: readonly [fromMs: number, toMs: number];
  /** The readable parts of the machine; absent if not recorded. */
  readonly visibility?: readonly VisiblePart[];
  /** Reasons why the numbers may not represent the system: changed facts, foreign processes, failures. One sentence each. */
  readonly doubts: readonly string[];
}

export interface ComparisonSubject {
  readonly name: string;
  readonly runs: readonly RunSeries[];
}
