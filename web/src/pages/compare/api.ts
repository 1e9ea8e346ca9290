/** The hub's comparison, with the same calculation as the command line's. */
import type { Comparison } from "../../../../src/runs/compare/compare.ts";
import { type FetchState, useFetch } from "../../query/use-fetch.ts";
import { getJson } from "../../query/http.ts";
import type { ChosenSubject } from "./chosen-subjects.ts";
import { writeSubject } from "./subject.ts";

export type ComparisonState = FetchState<Comparison>;

/** The address of a comparison of GPUs, hosts and times; `format` is added for a report. */
export function liveAddress(
  compared: readonly ChosenSubject[],
  fromMs: number,
  toMs: number,
  work: string,
): string {
  const params = new URLSearchParams({
    start: String(fromMs / 1_000),
    end: String(toMs / 1_000),
  });
  for (const { subject, label } of compared) {
    params.append(subject.kind, writeSubject(subject));
    params.append("name", label);
  }
  if (work !== "") params.set("work", work);
  return `api/compare?${params.toString()}`;
}

export const runsAddress = (ids: readonly string[]): string =>
  `api/compare?${new URLSearchParams(ids.map((id) => ["run", id])).toString()}`;

export const useComparison = (address: string): ComparisonState =>
  useFetch(
    address,
    async (signal) => ((await getJson(address, signal)) as { readonly data: Comparison }).data,
  );

export interface RunListing {
  readonly id: string;
  readonly label: string;
  readonly host: string;
  readonly startedMs: number;
}

/** The hub's recorded runs, newest first; empty if it records none. */
export const useRuns = (): readonly RunListing[] =>
  useFetch("api/runs", async (signal) => {
    const { runs } = (await getJson("api/runs", signal)) as {
      readonly runs: readonly { readonly run: RunListing }[];
    };
    return runs.map(({ run }) => run).sort((one, other) => other.startedMs - one.startedMs);
  }).value ?? [];
