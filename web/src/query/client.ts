/** PromQL against the hub's own Prometheus API. */
import {
  appendMatrix,
  gridOf,
  type Labels,
  type Matrix,
  matrixOf,
  readNumber,
  type TimeGrid,
} from "./columns.ts";
import { ApiError, getJson } from "./http.ts";

/** Late samples still change the last instants: they are asked again with every refresh. */
const OVERLAP_MS = 30_000;

interface Answer {
  readonly data: { readonly resultType: string; readonly result: unknown };
  readonly warnings?: readonly string[];
}

export interface InstantSample {
  readonly labels: Labels;
  readonly timeMs: number;
  readonly value: number;
  /** As the hub wrote it. */
  readonly text: string;
}

export interface InstantResult {
  readonly type: string;
  readonly samples: readonly InstantSample[];
  readonly warnings: readonly string[];
}

export async function queryRange(
  query: string,
  grid: TimeGrid,
  signal?: AbortSignal,
): Promise<Matrix> {
  const answer = await api(
    "query_range",
    {
      query: withStep(query, grid),
      start: String(grid.startMs / 1_000),
      end: String(grid.endMs / 1_000),
      step: String(grid.stepMs / 1_000),
    },
    signal,
  );
  const { resultType, result } = answer.data;
  if (resultType !== "matrix")
    throw new ApiError(`This query gives no curve but a ${resultType}.`, 200);
  return matrixOf(result as Parameters<typeof matrixOf>[0], grid, answer.warnings ?? []);
}

/** Asks only for what is newer than what is known, where the two fit together. */
export async function continueRange(
  query: string,
  grid: TimeGrid,
  known: Matrix | undefined,
  signal?: AbortSignal,
): Promise<Matrix> {
  const fits =
    known?.stepMs === grid.stepMs &&
    known.startMs <= grid.startMs &&
    known.endMs >= grid.startMs &&
    known.endMs <= grid.endMs;
  if (known === undefined || !fits) return queryRange(query, grid, signal);
  const fromMs = Math.max(grid.startMs, known.endMs - OVERLAP_MS);
  const tail = gridOf(fromMs, grid.endMs, grid.stepMs);
  return appendMatrix(known, await queryRange(query, tail, signal), grid);
}

export async function queryInstant(
  query: string,
  timeMs?: number,
  signal?: AbortSignal,
): Promise<InstantResult> {
  const params: Record<string, string> = { query };
  if (timeMs !== undefined) params["time"] = String(timeMs / 1_000);
  const { data, warnings } = await api("query", params, signal);
  return { type: data.resultType, samples: samplesIn(data), warnings: warnings ?? [] };
}

function samplesIn({ resultType, result }: Answer["data"]): InstantSample[] {
  if (resultType === "vector") {
    const rows = result as readonly { metric: Labels; value: readonly [number, string] }[];
    return rows.map(({ metric, value: [seconds, text] }) => sample(metric, seconds, text));
  }
  if (resultType === "matrix") {
    const rows = result as readonly {
      metric: Labels;
      values: readonly (readonly [number, string])[];
    }[];
    return rows.flatMap(({ metric, values }) =>
      values.map(([seconds, text]) => sample(metric, seconds, text)),
    );
  }
  const [seconds, text] = result as readonly [number, string];
  return [sample({}, seconds, text)];
}

const sample = (labels: Labels, seconds: number, text: string): InstantSample => ({
  labels,
  timeMs: seconds * 1_000,
  value: readNumber(text),
  text,
});

/** `$step` in a query is the distance of its points, at least what a rate needs: `avg_over_time(x[$step])`. */
export const withStep = (query: string, { stepMs }: Pick<TimeGrid, "stepMs">): string =>
  query.replaceAll("$step", `${Math.max(1, Math.round(stepMs / 1_000))}s`);

async function api(
  path: string,
  params: Record<string, string>,
  signal?: AbortSignal,
): Promise<Answer> {
  const query = new URLSearchParams(params);
  return (await getJson(`api/v1/${path}?${query.toString()}`, signal)) as Answer;
}
