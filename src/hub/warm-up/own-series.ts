/** Queries over series that the hub has, at the time of its newest sample: cheap ones, of a few hundred series at most. */
import type { MetricSize } from "../../storage/embedded/reader.ts";
import type { Store } from "../../storage/embedded/store.ts";
import type { PracticeQuery } from "./practice-store.ts";

/** Takes about a millisecond. */
const mostSeries = 500;
const rangeMs = 600_000;
const stepMs = 30_000;

/** Without series, queries that need none. */
export function ownQueries(store: Pick<Store, "metrics" | "newestMs">): readonly PracticeQuery[] {
  const maxTimeMs = store.newestMs();
  const all = store.metrics().filter(({ name, series }) => isPlain(name) && series <= mostSeries);
  const gauge = largest(all.filter(({ name }) => !isCounter(name)));
  const counter = largest(all.filter(({ name }) => isCounter(name)));
  const endMs = (maxTimeMs ?? 0) + 500;
  const queries: PracticeQuery[] = [];
  const instant = (query: string): unknown =>
    queries.push({ query, startMs: endMs, endMs, stepMs: 0 });
  const range = (query: string): unknown =>
    queries.push({ query, startMs: endMs - rangeMs, endMs, stepMs });
  if (gauge !== undefined) {
    instant(gauge);
    instant(`sum by (host, instance) (${gauge})`);
    instant(`max_over_time(${gauge}[5m])`);
    instant(`${gauge} > 0 and on (job) ${gauge}`);
    range(`avg by (host, instance) (${gauge})`);
    range(gauge);
  }
  if (counter !== undefined) {
    instant(`sum(rate(${counter}[5m]))`);
    range(`sum by (host) (rate(${counter}[5m]))`);
  }
  if (queries.length === 0) instant("1");
  return queries;
}

/** Names that need no quotes in PromQL. */
const isPlain = (name: string): boolean => /^[a-z_:][\w:]*$/i.test(name);
const isCounter = (name: string): boolean => name.endsWith("_total");

const largest = (metrics: readonly MetricSize[]): string | undefined =>
  metrics.reduce<MetricSize | undefined>(
    (most, one) => (one.series > (most?.series ?? 0) ? one : most),
    undefined,
  )?.name;
