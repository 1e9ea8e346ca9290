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
  /** By the lake's column names; NaN where a row has no reading. */
  readonly columns: ReadonlyMap<string, Float64Array>;
  /** By the same names: how many samples each row is the mean of; absent where every row is one sample. */
  readonly counts?: ReadonlyMap<string, Float64Array>;
  /** From the recorder; absent: computed from the columns. */
  readonly energy?: { readonly counterJoules?: number; readonly integratedJoules?: number };
}

export interface WorkAmount {
  readonly amount: number;
  readonly unit: string;
}

/** One repeat: a run, or a stretch of time of a GPU that was watched. */
export interface RunSeries {
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
  /** As a clock that never jumps has it; absent: end less start. */
  readonly durationSeconds?: number;
  readonly samplingMs: number;
  readonly gpus: readonly GpuSeries[];
  /** What was done in it, or why nobody knows. */
  readonly work: WorkAmount | { readonly why: string };
  /** The work per second over time, where it was read as a series. */
  readonly workRate?: {
    readonly timeMs: Float64Array;
    readonly values: Float64Array;
    /** Samples it is made of, where that is known and fewer than its values. */
    readonly readings: number;
  };
  /** A stretch in which the GPUs idled, before the run. */
  readonly baselineMs?: readonly [fromMs: number, toMs: number];
  /** Which parts of its machine could be seen; absent where nobody recorded it. */
  readonly visibility?: readonly VisiblePart[];
  /** Sentences that say why its numbers may not be those of the system: what changed, who else was there, how it failed. */
  readonly doubts: readonly string[];
}

export interface ComparisonSubject {
  readonly name: string;
  readonly runs: readonly RunSeries[];
}
