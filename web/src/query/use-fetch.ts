/** Fetches any response of the hub, refreshes it, and aborts when the component is removed. */
import { useCallback, useEffect, useState } from "preact/hooks";
import { hubTimeMs, liveness } from "../live/feed.ts";
import { nowMs } from "../view-state/time.ts";
import { type InstantResult, queryInstant } from "./client.ts";
import { type ApiError, getJson } from "./http.ts";
import { toApiError } from "./use-range.ts";

export interface FetchState<Value> {
  /** The newest value; stays while the next one loads. */
  readonly value: Value | undefined;
  readonly error: ApiError | undefined;
  readonly loading: boolean;
  /** Fetches again now. */
  readonly again: () => void;
}

/** `key` identifies the request; without `everyMs` it is sent once. */
export function useFetch<Value>(
  key: string,
  ask: (signal: AbortSignal) => Promise<Value>,
  everyMs?: number,
): FetchState<Value> {
  const [state, setState] = useState<Omit<FetchState<Value>, "again"> & { readonly key: string }>({
    key,
    value: undefined,
    error: undefined,
    loading: true,
  });
  const [turn, setTurn] = useState(0);
  const isOffline = liveness.value === "lost";
  useEffect(() => {
    if (isOffline) return undefined;
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const settle = (value: Value | undefined, error: ApiError | undefined): void => {
      if (abort.signal.aborted) return;
      setState((before) => ({
        key,
        value: value ?? (before.key === key ? before.value : undefined),
        error,
        loading: false,
      }));
      if (everyMs !== undefined) timer = setTimeout(round, everyMs);
    };
    const round = (): void => {
      ask(abort.signal).then(
        (value) => settle(value, undefined),
        (thrown: unknown) => settle(undefined, toApiError(thrown)),
      );
    };
    round();
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [key, everyMs, turn, isOffline]);
  const again = useCallback(() => setTurn((before) => before + 1), []);
  return state.key === key
    ? { ...state, again }
    : { value: undefined, error: undefined, loading: true, again };
}

/** The JSON response of a path such as `api/agents`. The caller supplies its type. */
export const useJson = <Value>(path: string, everyMs?: number): FetchState<Value> =>
  useFetch(path, async (signal) => (await getJson(path, signal)) as Value, everyMs);

/** An instant query at the right edge of the range, sent again as that moves. */
export function useInstant(
  query: string,
  timeMs: number = nowMs.value,
  ask: typeof queryInstant = queryInstant,
): FetchState<InstantResult> {
  const atMs = Math.floor(timeMs / 1_000) * 1_000;
  const [last, setLast] = useState<{ query: string; value: InstantResult } | undefined>(undefined);
  const state = useFetch(`${atMs} ${query}`, (signal) => ask(query, atMs, signal));
  useEffect(() => {
    if (state.value !== undefined) setLast({ query, value: state.value });
  }, [state.value]);
  const before = state.error === undefined && last?.query === query ? last.value : undefined;
  return { ...state, value: state.value ?? before };
}

/** An instant query at the present, whatever the current range is. */
export const useNow = (query: string, everyMs: number): FetchState<InstantResult> =>
  useFetch(query, (signal) => queryInstant(query, hubTimeMs(), signal), everyMs);
