// Real Prometheus and the built hub, scraping the same targets with the same configuration file.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { type RunningHub, startHub } from "../../engines/hub.ts";
import { type RunningPrometheus, startPrometheus } from "../../engines/prometheus.ts";
import { waitUntil } from "../../engines/wait.ts";
import { openMetricsFloat } from "../../src/formats/exposition/open-metrics-float.ts";

export interface InstantVectorSample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

export interface ActiveTarget {
  readonly discoveredLabels: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly scrapePool: string;
  readonly scrapeUrl: string;
  readonly health: string;
  readonly lastError: string;
  readonly scrapeInterval: string;
  readonly scrapeTimeout: string;
}

export interface TargetLists {
  readonly activeTargets: readonly ActiveTarget[];
  readonly droppedTargets: readonly Pick<ActiveTarget, "discoveredLabels">[];
}

export interface ScrapePair {
  readonly hub: RunningHub;
  readonly prometheus: RunningPrometheus;
  /** The file both read; the hub can be made to reload it. */
  readonly configFile: string;
  /** Prometheus's response, then the hub's. */
  ask<Data>(route: string): Promise<readonly [Data, Data]>;
  query(expression: string): Promise<readonly [readonly string[], readonly string[]]>;
  /** Waits until both return the same, expected result; returns the hub's. */
  agree(
    expression: string,
    expected?: (lines: readonly string[]) => boolean,
    timeoutMs?: number,
  ): Promise<readonly string[]>;
  stop(): Promise<void>;
}

export async function startScrapePair(
  program: string,
  config: Readonly<Record<string, unknown>>,
): Promise<ScrapePair> {
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-scrape-"));
  const configFile = path.join(folder, "prometheus.yml");
  await writeFile(configFile, JSON.stringify(config));
  const [prometheus, hub] = await Promise.all([
    startPrometheus({ path: program, config, logLevel: "warn" }),
    startHub({
      dataDir: path.join(folder, "data"),
      args: [`--prometheus-config=${configFile}`],
    }),
  ]);
  const ask = async <Data>(route: string): Promise<readonly [Data, Data]> => {
    const [theirs, ours] = await Promise.all(
      [prometheus.url, hub.url].map(async (url) => {
        const body = (await (await fetch(url + route)).json()) as { data?: unknown };
        if (body.data === undefined) throw new Error(`${url}${route}: ${JSON.stringify(body)}`);
        return body.data as Data;
      }),
    );
    return [theirs as Data, ours as Data];
  };
  const query = async (
    expression: string,
  ): Promise<readonly [readonly string[], readonly string[]]> => {
    const [theirs, ours] = await ask<{ result: readonly InstantVectorSample[] }>(
      `/api/v1/query?query=${encodeURIComponent(expression)}`,
    );
    const asPrometheus3 = theirs.result.map((sample) => line(withOpenMetricsBounds(sample)));
    return [asPrometheus3.sort(), ours.result.map(line).sort()];
  };
  return {
    hub,
    prometheus,
    configFile,
    ask,
    query,
    agree: async (expression, expected = (lines) => lines.length > 0, timeoutMs = 30_000) =>
      waitUntil({ what: `both to agree on ${expression}`, timeoutMs }, async () => {
        const [theirs, ours] = await query(expression);
        const difference = differenceOf(theirs, ours);
        if (difference !== "") throw new Error(difference);
        if (!expected(ours)) throw new Error(`both say ${ours.slice(0, 5).join("; ")}`);
        return ours;
      }),
    stop: async () => {
      await Promise.all([prometheus.stop(), hub.stop()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Prometheus before 3 stores `le` and `quantile` as on the page, later versions and the hub in OpenMetrics notation. */
function withOpenMetricsBounds({ metric, value }: InstantVectorSample): InstantVectorSample {
  const bounds = ["le", "quantile"].flatMap((name) => {
    const text = metric[name];
    const bound = text === "+Inf" ? Infinity : Number(text ?? Number.NaN);
    return Number.isNaN(bound) ? [] : [[name, openMetricsFloat(bound)] as const];
  });
  return { metric: { ...metric, ...Object.fromEntries(bounds) }, value };
}

/** Sorted labels, and the value. */
function line({ metric, value }: InstantVectorSample): string {
  const labels = Object.entries(metric)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, text]) => `${name}=${JSON.stringify(text)}`);
  return `{${labels.join(",")}} ${value[1]}`;
}

export function differenceOf(theirs: readonly string[], ours: readonly string[]): string {
  const [theirSet, ourSet] = [new Set(theirs), new Set(ours)];
  const missing = theirs.filter((one) => !ourSet.has(one));
  const more = ours.filter((one) => !theirSet.has(one));
  if (missing.length === 0 && more.length === 0) return "";
  return `${theirs.length} and ${ours.length}; Prometheus alone: ${missing.slice(0, 6).join("; ")}; the hub alone: ${more.slice(0, 6).join("; ")}`;
}
