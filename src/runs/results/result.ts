/** A benchmark's own report: the work it did, and when it measured. Plain data; the parsers beside it are pure. */
import type { RunPhase, RunSpan } from "../run.ts";

export interface BenchmarkFigure {
  readonly name: string;
  readonly value: number | string;
  readonly unit: string;
}

export interface BenchmarkWork {
  readonly amount: number;
  readonly unit: string;
}

export interface BenchmarkResult {
  readonly tool: string;
  /** The first is used if the user specifies no unit. */
  readonly work: readonly BenchmarkWork[];
  /** The measured time, on the clock of the machine that ran it; absent if the tool does not report it. */
  readonly window?: RunSpan;
  /** The duration of the measurement, if a tool reports only that. */
  readonly seconds?: number;
  readonly phases: readonly RunPhase[];
  readonly figures: readonly BenchmarkFigure[];
  /** Caveats for readers of the numbers, one sentence each. */
  readonly notes: readonly string[];
}

export type ParsedResult = BenchmarkResult | { readonly problem: string };

/** True for a positive finite number. */
export const isAmount = (value: unknown): value is number =>
  typeof value === "number" && Number.isFinite(value) && value > 0;
