/**
 * Finds out when a rule would have fired over past data: its expression is evaluated with range queries, and the results pass
 * step by step through the states of a running rule. Writes and sends nothing.
 */
import type { MatrixSeries, VectorSample } from "../../query/result.ts";
import type { RunQuery } from "../../formats/template/alert.ts";
import { AlertingState } from "../rules/alerting.ts";
import type { AlertingRule } from "../rules/types.ts";
import { type FiringPeriod, FiringRecorder } from "./firings.ts";
import { isBelow } from "./direction.ts";

export interface RangeQuerySource {
  /** A range query; series in any order. */
  range(
    query: string,
    startMs: number,
    endMs: number,
    stepMs: number,
    signal?: AbortSignal,
  ): Promise<readonly MatrixSeries[]>;
  /** An instant query, for templates that run one. */
  ask(query: string, timeMs: number): ReturnType<RunQuery>;
}

export interface BacktestOptions {
  readonly startMs: number;
  readonly endMs: number;
  readonly stepMs: number;
  readonly externalLabels: ReadonlyMap<string, string>;
  readonly externalUrl: string;
  readonly signal?: AbortSignal | undefined;
  /** Called with the progress, 0 to 1. */
  readonly progress?: (share: number) => void;
}

export interface BacktestResult {
  readonly startMs: number;
  readonly endMs: number;
  readonly stepMs: number;
  /** Sorted by start; at most `maxFirings`. */
  readonly firings: readonly FiringPeriod[];
  readonly totals: {
    readonly firings: number;
    /** The number of label sets that fired. */
    readonly labelSets: number;
    readonly firingMs: number;
    readonly longestMs: number;
    /** Alerts that were pending and never fired: a shorter `for` would have notified of them. */
    readonly pendingOnly: number;
  };
}

/** Steps per query: a fleet's result for more would need too much memory. */
const stepsPerQuery = 1_000;
export const maxSteps = 60_000;
const maxFirings = 10_000;

export async function backtest(
  rule: AlertingRule,
  past: RangeQuerySource,
  options: BacktestOptions,
): Promise<BacktestResult> {
  const { endMs, stepMs, signal, progress } = options;
  const startMs = Math.ceil(options.startMs / stepMs) * stepMs;
  // Warms up before the range, so that a long-active alert already fires at its beginning.
  const warmMs = Math.ceil((rule.forMs + rule.keepFiringForMs) / stepMs) * stepMs;
  const state = new AlertingState(rule);
  const recorder = new FiringRecorder(startMs, isBelow(rule.expr), maxFirings);
  let lastMs = startMs - warmMs - stepMs;
  while (lastMs + stepMs <= endMs) {
    signal?.throwIfAborted();
    const fromMs = lastMs + stepMs;
    const toMs = Math.min(
      fromMs + (stepsPerQuery - 1) * stepMs,
      fromMs + Math.floor((endMs - fromMs) / stepMs) * stepMs,
    );
    const series = await past.range(rule.expr, fromMs, toMs, stepMs, signal);
    await walk(state, recorder, vectors(series), fromMs, toMs, past, options);
    progress?.((toMs - startMs + warmMs) / Math.max(1, endMs - startMs + warmMs));
    lastMs = toMs;
  }
  return { startMs, endMs: lastMs, stepMs, ...recorder.finish(lastMs) };
}

async function walk(
  state: AlertingState,
  recorder: FiringRecorder,
  at: ReadonlyMap<number, readonly VectorSample[]>,
  fromMs: number,
  toMs: number,
  past: RangeQuerySource,
  { stepMs, externalLabels, externalUrl }: BacktestOptions,
): Promise<void> {
  for (let timeMs = fromMs; timeMs <= toMs; timeMs += stepMs) {
    const samples = at.get(timeMs) ?? [];
    // Most steps of most rules have no samples and no open alerts.
    if (samples.length === 0 && recorder.isQuiet) continue;
    const ask: RunQuery = (query) => past.ask(query, timeMs);
    await state.evaluate(samples, timeMs, 0, { externalLabels, externalUrl, ask });
    recorder.look(state.active, timeMs);
  }
}

/** The result transposed: the samples of each step. */
function vectors(series: readonly MatrixSeries[]): ReadonlyMap<number, readonly VectorSample[]> {
  const out = new Map<number, VectorSample[]>();
  for (const { labels, times, values } of series) {
    for (let index = 0; index < times.length; index++) {
      const timeMs = times[index] ?? 0;
      const sample = { labels, timeMs, value: values[index] ?? Number.NaN };
      const there = out.get(timeMs);
      if (there === undefined) out.set(timeMs, [sample]);
      else there.push(sample);
    }
  }
  return out;
}
