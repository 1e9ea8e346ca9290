/** Analyses of the hub's lake: requested once per range, and awaited if they take long. */
import { ApiError, getJson } from "../../query/http.ts";
import { type FetchState, useFetch, useJson } from "../../query/use-fetch.ts";
import { analysisPath, type AnalysisQuery, type LakeResultRow } from "./lake-rows.ts";

interface AnalysisResponse {
  readonly rows: readonly LakeResultRow[];
}

interface AnalysisJobResponse {
  readonly href: string;
  readonly state: "waiting" | "running" | "done" | "failed" | "cancelled";
  readonly error?: string;
  readonly result?: AnalysisResponse;
}

const LOOK_AGAIN_MS = 1_000;

/** True if the hub has a lake; undefined until it has responded. */
export function useHasLake(): boolean | undefined {
  const { value, error } = useJson<{ readonly lake: boolean }>("api/analytics");
  return error === undefined ? value?.lake : false;
}

export function useAnalysis(
  name: string,
  asked: AnalysisQuery,
): FetchState<readonly LakeResultRow[]> {
  const path = analysisPath(name, asked);
  return useFetch(path, (signal) => answered(path, signal));
}

async function answered(path: string, signal: AbortSignal): Promise<readonly LakeResultRow[]> {
  let response = (await getJson(path, signal)) as AnalysisResponse | AnalysisJobResponse;
  while (!("rows" in response)) {
    if (response.result !== undefined) return response.result.rows;
    if (response.state === "failed" || response.state === "cancelled")
      throw new ApiError(response.error ?? "The analysis did not end.", 500);
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
    response = (await getJson(response.href.replace(/^\//, ""), signal)) as AnalysisJobResponse;
  }
  return response.rows;
}
