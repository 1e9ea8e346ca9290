// Reads all of a hub's data for a selector, of any age.

import type { ShownHistogram } from "../crash/histogram.ts";
import { batchMs } from "../store/batches.ts";

interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly values?: readonly (readonly [number, string])[];
  readonly histograms?: readonly (readonly [number, ShownHistogram])[];
}

export async function select(url: string, query: string): Promise<readonly Series[]> {
  const body = new URLSearchParams({ query, time: String(batchMs(1e6) / 1000) });
  const response = await fetch(`${url}/api/v1/query`, { method: "POST", body });
  const answer = (await response.json()) as {
    status: string;
    error?: string;
    data?: { result: Series[] };
  };
  if (answer.data === undefined) throw new Error(`the hub answered ${answer.error}`);
  return answer.data.result;
}
