/** Analyses the hub makes of its lake: asked once a range, waited for where they take long. */
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

/** Whether the hub keeps a lake; undefined until it has said so. */
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
  let told = (await getJson(path, signal)) as AnalysisResponse | AnalysisJobResponse;
  while (!("rows" in told)) {
    if (told.result !== undefined) return told.result.rows;
    if (told.state === "failed" || told.state === "cancelled")
      throw new ApiError(told.error ?? "The analysis did not end.", 500);
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
    told = (await getJson(told.href.replace(/^\//, ""), signal)) as AnalysisJobResponse;
  }
  return told.rows;
}
