/** The queries of dashboards, from our own Grafana files, with their variables filled in as Grafana would. */
import { readFileSync } from "node:fs";

interface Panel {
  readonly targets?: readonly { readonly expr?: string; readonly instant?: boolean }[];
  readonly panels?: readonly Panel[];
}

export interface BoardQuery {
  readonly query: string;
  readonly instant: boolean;
}

const folder = new URL("../deploy/grafana/dashboards/", import.meta.url);

/** @param host one host, or `.*` */
export function boardQueries(board: "fleet" | "gpu", host: string): readonly BoardQuery[] {
  const file = readFileSync(new URL(`${board}.json`, folder), "utf8");
  const { panels } = JSON.parse(file) as { panels: readonly Panel[] };
  const targets = panels
    .flatMap((panel) => [panel, ...(panel.panels ?? [])])
    .flatMap(({ targets: of = [] }) => of);
  return targets.flatMap(({ expr, instant }) =>
    expr === undefined ? [] : [{ query: filled(expr, host), instant: instant === true }],
  );
}

const filled = (expr: string, host: string): string =>
  expr
    .replaceAll(/\$\{?host\}?/g, host)
    .replaceAll("$__rate_interval", "1m")
    .replaceAll("$__interval", "15s")
    .replaceAll("$__range", "15m")
    .replaceAll(/\$\{?\w+\}?/g, ".*");

/** The request of a panel that shows a quarter of an hour. */
export function queryPath({ query, instant }: BoardQuery, nowMs: number): string {
  const now = Math.floor(nowMs / 15_000) * 15;
  const asked = new URLSearchParams(
    instant
      ? { query, time: String(now) }
      : { query, start: String(now - 900), end: String(now), step: "15" },
  );
  return `/api/v1/${instant ? "query" : "query_range"}?${asked.toString()}`;
}
