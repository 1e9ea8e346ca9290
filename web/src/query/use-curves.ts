/** Curves of several queries on the same grid, each over the current window or a shifted one. */
import { useEffect, useRef, useState } from "preact/hooks";
import { continueRange } from "./client.ts";
import type { TimeGrid, Matrix } from "./columns.ts";
import type { ApiError } from "./http.ts";
import { toApiError } from "./use-range.ts";

export interface CurveQuery {
  readonly key: string;
  readonly query: string;
  /** A multiple of the grid's step. */
  readonly shiftMs: number;
}

export interface Curves {
  /** By the query's key; absent if it failed. */
  readonly matrices: ReadonlyMap<string, Matrix>;
  readonly grid: TimeGrid;
  /** The queries as one text: the result of other queries is not shown. */
  readonly asked: string;
}

export interface CurvesState {
  readonly curves: Curves | undefined;
  readonly error: ApiError | undefined;
  readonly loading: boolean;
}

interface CachedCurves {
  readonly asked: string;
  readonly anewAtMs: number;
  readonly matrices: ReadonlyMap<string, Matrix>;
}

/** Samples may arrive later than the overlap, so everything is fetched again at this interval. */
const REFETCH_AFTER_MS = 60_000;

/** `turn` changes when the same grid has to be queried again, because its last instant may be incomplete. */
export function useCurves(asks: readonly CurveQuery[], grid: TimeGrid, turn = 0): CurvesState {
  const [state, setState] = useState<CurvesState>({
    curves: undefined,
    error: undefined,
    loading: true,
  });
  const known = useRef<CachedCurves | undefined>(undefined);
  const asked = JSON.stringify([asks, grid.stepMs]);
  useEffect(() => {
    if (asks.length === 0) return undefined;
    const abort = new AbortController();
    const usable =
      known.current?.asked === asked && isOnSteps(grid) && grid.endMs < known.current.anewAtMs
        ? known.current
        : undefined;
    setState((before) => ({ ...before, loading: true }));
    const work = asks.map(async ({ key, query, shiftMs }) => {
      const own = {
        ...grid,
        startMs: grid.startMs - shiftMs,
        endMs: grid.endMs - shiftMs,
      };
      return [
        key,
        await continueRange(query, own, usable?.matrices.get(key), abort.signal),
      ] as const;
    });
    void Promise.allSettled(work).then((settled) => {
      if (abort.signal.aborted) return;
      const matrices = new Map(
        settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : [])),
      );
      const failed = settled.find((one) => one.status === "rejected");
      const error = failed === undefined ? undefined : toApiError(failed.reason);
      // No response at all is a connection problem: the last data stays on screen.
      if (error?.status === 0) return setState((before) => ({ ...before, error, loading: false }));
      known.current = {
        asked,
        anewAtMs: usable?.anewAtMs ?? grid.endMs + REFETCH_AFTER_MS,
        matrices,
      };
      return setState({ curves: { matrices, grid, asked }, error, loading: false });
    });
    return () => abort.abort();
  }, [asked, grid.startMs, grid.endMs, turn]);
  return state.curves?.asked === asked ? state : { ...state, curves: undefined };
}

/** Only such a grid can be continued: the new part of any other would fall between its points. */
const isOnSteps = ({ startMs, stepMs }: TimeGrid): boolean => startMs % stepMs === 0;
