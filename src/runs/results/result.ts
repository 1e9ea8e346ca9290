/** What a benchmark wrote about itself: the work it did, and when it measured. Plain data; the parsers beside it are pure. */
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
  /** The first is the one that counts where the user names no unit. */
  readonly work: readonly BenchmarkWork[];
  /** What was measured, on the clock of the machine that ran it; absent where the tool does not say when. */
  readonly window?: RunSpan;
  /** How long the measurement lasted, where a tool says that and not when. */
  readonly seconds?: number;
  readonly phases: readonly RunPhase[];
  readonly figures: readonly BenchmarkFigure[];
  /** Sentences a reader of the numbers must know. */
  readonly notes: readonly string[];
}

export type ParsedResult = BenchmarkResult | { readonly problem: string };

/** A number that is there and makes sense as an amount. */
export const isAmount = (value: unknown): value is number =>
  typeof value === "number" && Number.isFinite(value) && value > 0;
