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
import { type ApiHistogram, histogramText } from "../../../src/view/histogram-text.ts";
import { ApiError, getJson } from "./http.ts";

/** Seconds, and the histogram there. */
export type ApiHistogramPoint = readonly [seconds: number, histogram: ApiHistogram];

/** Late samples still change the last instants, which are queried again with every refresh. */
const OVERLAP_MS = 30_000;

interface QueryResponse {
  readonly data: { readonly resultType: string; readonly result: unknown };
  readonly warnings?: readonly string[];
  readonly infos?: readonly string[];
}

export interface InstantSample {
  readonly labels: Labels;
  readonly timeMs: number;
  /** NaN for a native histogram. */
  readonly value: number;
  /** As the hub wrote it. */
  readonly text: string;
  readonly isHistogram?: boolean;
}

export interface InstantResult {
  readonly type: string;
  readonly samples: readonly InstantSample[];
  /** Warnings, then infos. */
  readonly annotations: readonly string[];
}

export async function queryRange(
  query: string,
  grid: TimeGrid,
  signal?: AbortSignal,
): Promise<Matrix> {
  const answer = await api("query_range", rangeParams(query, grid), signal);
  const { resultType, result } = answer.data;
  if (resultType !== "matrix")
    throw new ApiError(`This query returns a ${resultType}, which cannot be drawn.`, 200);
  return matrixOf(result as Parameters<typeof matrixOf>[0], grid, answer.warnings ?? []);
}

/** Queries only the time after the known result, if the two grids fit together. */
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
  const { data, warnings = [], infos = [] } = await api("query", params, signal);
  return {
    type: data.resultType,
    samples: samplesIn(data),
    annotations: [...warnings, ...infos],
  };
}

function samplesIn({ resultType, result }: QueryResponse["data"]): InstantSample[] {
  if (resultType === "vector") {
    const rows = result as readonly {
      metric: Labels;
      value?: readonly [number, string];
      histogram?: ApiHistogramPoint;
    }[];
    return rows.flatMap(({ metric, value, histogram }) => [
      ...(value === undefined ? [] : [sample(metric, ...value)]),
      ...(histogram === undefined ? [] : [histogramSample(metric, histogram)]),
    ]);
  }
  if (resultType === "matrix") {
    const rows = result as readonly {
      metric: Labels;
      values?: readonly (readonly [number, string])[];
      histograms?: readonly ApiHistogramPoint[];
    }[];
    return rows.flatMap(({ metric, values = [], histograms = [] }) => [
      ...values.map(([seconds, text]) => sample(metric, seconds, text)),
      ...histograms.map((point) => histogramSample(metric, point)),
    ]);
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

const histogramSample = (
  labels: Labels,
  [seconds, histogram]: ApiHistogramPoint,
): InstantSample => ({
  labels,
  timeMs: seconds * 1_000,
  value: Number.NaN,
  text: histogramText(histogram),
  isHistogram: true,
});

/** The histograms of a range query, per series. */
export async function queryHistograms(
  query: string,
  grid: TimeGrid,
  signal?: AbortSignal,
): Promise<readonly (readonly ApiHistogramPoint[])[]> {
  const { data } = await api("query_range", rangeParams(query, grid), signal);
  const rows = data.result as readonly { histograms?: readonly ApiHistogramPoint[] }[];
  return data.resultType === "matrix" ? rows.map(({ histograms = [] }) => histograms) : [];
}

const rangeParams = (query: string, grid: TimeGrid): Record<string, string> => ({
  query: withStep(query, grid),
  start: String(grid.startMs / 1_000),
  end: String(grid.endMs / 1_000),
  step: String(grid.stepMs / 1_000),
});

/** Replaces `$step` in a query by the distance between points, at least 1 s, as in `avg_over_time(x[$step])`. */
export const withStep = (query: string, { stepMs }: Pick<TimeGrid, "stepMs">): string =>
  query.replaceAll("$step", `${Math.max(1, Math.round(stepMs / 1_000))}s`);

async function api(
  path: string,
  params: Record<string, string>,
  signal?: AbortSignal,
): Promise<QueryResponse> {
  const query = new URLSearchParams(params);
  return (await getJson(`api/v1/${path}?${query.toString()}`, signal)) as QueryResponse;
}
