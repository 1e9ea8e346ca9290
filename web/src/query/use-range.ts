/** Range queries of a component over the current window: continued while it moves, aborted when the component is removed. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { TimeWindow } from "../view-state/range.ts";
import { stepMsFor } from "../../../src/view/step.ts";
import { timeWindow } from "../view-state/time.ts";
import { continueRange } from "./client.ts";
import { gridOf, type Matrix, type TimeGrid } from "./columns.ts";
import { firstAnswer } from "./first-load.ts";
import { ApiError, isAbort } from "./http.ts";

/** Samples may arrive later than the overlap, so everything is fetched again at this interval. */
const ANEW_AFTER_MS = 60_000;

export interface RangeResult {
  /** In the order of the queries; undefined if a query has never succeeded. */
  readonly matrices: readonly (Matrix | undefined)[];
  readonly grid: TimeGrid;
  /** The window of the result. */
  readonly window: TimeWindow;
}

export interface RangeState {
  /** The newest complete result; stays while the next one loads. */
  readonly answer: RangeResult | undefined;
  readonly error: ApiError | undefined;
  readonly loading: boolean;
}

export interface RangeOptions {
  readonly widthPx: number;
  /** Lower limit of the step for any chart width: the interval of the samples. */
  readonly leastStepMs?: number;
  /** Replaces the current window: a page that compares two times has two. */
  readonly window?: TimeWindow;
}

interface Memory {
  readonly key: string;
  readonly anewAtMs: number;
  readonly matrices: readonly (Matrix | undefined)[];
}

/** No query is sent before the width is known (0). */
export function useRange(queries: readonly string[], options: RangeOptions): RangeState {
  const { widthPx, leastStepMs = 1_000 } = options;
  const window = options.window ?? timeWindow.value;
  const [state, setState] = useState<RangeState>(() => ({
    answer: options.window === undefined ? firstAnswer(queries) : undefined,
    error: undefined,
    loading: true,
  }));
  const memory = useRef<Memory | undefined>(undefined);
  if (memory.current === undefined && state.answer !== undefined)
    memory.current = {
      key: JSON.stringify([queries, state.answer.grid.stepMs]),
      anewAtMs: state.answer.window.toMs + ANEW_AFTER_MS,
      matrices: state.answer.matrices,
    };
  const stepMs = stepMsFor(window.toMs - window.fromMs, widthPx, leastStepMs);
  const key = JSON.stringify([queries, stepMs]);
  useEffect(() => {
    if (widthPx === 0 || queries.length === 0) return undefined;
    const abort = new AbortController();
    const grid = gridOf(window.fromMs, window.toMs, stepMs);
    const known = memory.current;
    const usable = known?.key === key && window.toMs < known.anewAtMs ? known : undefined;
    setState((before) => ({ ...before, loading: true }));
    const work = queries.map((query, at) =>
      continueRange(query, grid, usable?.matrices[at], abort.signal),
    );
    void Promise.allSettled(work).then((settled) => {
      if (abort.signal.aborted) return;
      const matrices = settled.map((one) => (one.status === "fulfilled" ? one.value : undefined));
      const failed = settled.find((one) => one.status === "rejected");
      const error = failed === undefined ? undefined : toApiError(failed.reason);
      // No response at all is a connection problem: the last data stays on screen.
      if (error?.status === 0) return setState((before) => ({ ...before, error, loading: false }));
      memory.current = {
        key,
        anewAtMs: usable?.anewAtMs ?? window.toMs + ANEW_AFTER_MS,
        matrices,
      };
      return setState({ answer: { matrices, grid, window }, error, loading: false });
    });
    return () => abort.abort();
  }, [key, window.fromMs, window.toMs, widthPx === 0]);
  return state;
}

export function toApiError(thrown: unknown): ApiError | undefined {
  if (isAbort(thrown)) return undefined;
  return thrown instanceof ApiError ? thrown : new ApiError(String(thrown), -1);
}
