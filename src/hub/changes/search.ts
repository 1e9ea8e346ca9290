/**
 * Reads the series for "what changed" from the history: first the GPUs', then their machines', then those of the peers of
 * changed series.
 */
import { anyOf, type Matcher, type Queryable } from "../../model/select.ts";
import { ChangeSearch } from "../../view/changes/changes.ts";
import { changeGrid, readSpans } from "../../view/changes/grid.ts";
import type { ChangeReport } from "../../view/changes/report.ts";
import type { ChangeSeriesTable } from "../../view/changes/series-table.ts";
import { gpuMetricNames, type GpuIdentity } from "../../view/explain/fleet-cells.ts";
import { findMates, withPeers } from "../explain/read.ts";
import type { ResolvedSubject } from "../explain/subject.ts";

/** Number of GPUs read with every series; above it, only the series that an explanation uses. */
const mostWhole = 8;
const mostPeers = 16;

export interface ChangeRequest {
  readonly resolved: ResolvedSubject & { readonly subject: ChangeReport["subject"] };
  readonly fromMs: number;
  readonly toMs: number;
}

export async function findChanges(
  history: Pick<Queryable, "series" | "select">,
  { resolved, fromMs, toMs }: ChangeRequest,
  signal?: AbortSignal,
): Promise<ChangeReport> {
  const { subject, gpus: own } = resolved;
  const all = await withPeers(history, toMs, own);
  const others = all.slice(own.length);
  const mates = subject.kind === "gpu" ? await findMates(history, own, others, toMs, signal) : [];
  const hosts = [...new Set(own.map(({ host }) => host))];
  const models = new Set(own.map(({ model }) => model));
  const peers = others
    .filter((one) => models.has(one.model) && !mates.includes(one))
    .slice(0, mostPeers);
  const grid = changeGrid(fromMs, toMs);
  const looked = [...own, ...mates];
  const search = new ChangeSearch(grid, { subject, own, mates, peers });
  const read = async (
    gpus: number,
    matchers: readonly Matcher[],
    into: ChangeSeriesTable,
  ): Promise<void> => {
    for (const span of readSpans(grid, gpus)) {
      const found = await history.select(matchers, span.fromMs + 1, span.toMs, signal);
      for (const one of found) into.take(one.labels, () => one.peek?.() ?? one.column);
    }
  };
  const names =
    looked.length > mostWhole
      ? anyOf("__name__", gpuMetricNames)
      : ({ name: "__name__", op: "=~", value: "gpu_.+" } as const);
  await read(looked.length, [names, ...matchersOf(looked)], search.series);
  const hostNames = { name: "__name__", op: "=~", value: "host_.+" } as const;
  const noGpu = { name: "uuid", op: "=", value: "" } as const;
  await read(hosts.length, [hostNames, noGpu, anyOf("host", hosts)], search.series);
  const moved = search.movedMetrics;
  if (peers.length > 0 && moved.length > 0)
    await read(peers.length, [anyOf("__name__", moved), ...matchersOf(peers)], search.peers);
  return search.report();
}

const matchersOf = (gpus: readonly GpuIdentity[]): readonly Matcher[] => [
  anyOf("uuid", [...new Set(gpus.map(({ uuid }) => uuid))]),
  anyOf("host", [...new Set(gpus.map(({ host }) => host))]),
];
