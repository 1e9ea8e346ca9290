// A real Prometheus and the built hub scrape one target with native histograms; then both run the same queries.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { startHub } from "../../engines/hub.ts";
import { type RunningPrometheus, startPrometheus } from "../../engines/prometheus.ts";
import { startNativeEndpoint } from "./native-endpoint.ts";
import { askOf, differenceOf } from "./prometheus3-compare.ts";

export const thirtyQueries: readonly string[] = [
  "request_latency_seconds",
  "margin_celsius",
  "queue_depth",
  "batch_bytes",
  "tokens_total",
  "histogram_count(request_latency_seconds)",
  "histogram_sum(margin_celsius)",
  "histogram_avg(batch_bytes)",
  "histogram_stddev(request_latency_seconds)",
  "histogram_stdvar(margin_celsius)",
  "histogram_quantile(0.5, request_latency_seconds)",
  "histogram_quantile(0.99, rate(request_latency_seconds[$range]))",
  "histogram_quantile(0.1, margin_celsius)",
  "histogram_quantile(0.9, sum(rate(request_latency_seconds[$range])))",
  "histogram_quantile(0.9, increase(batch_bytes[$range]))",
  "histogram_fraction(0, 1.5, request_latency_seconds)",
  "histogram_fraction(-2, 2, rate(margin_celsius[$range]))",
  "histogram_fraction(0, 5, batch_bytes)",
  "rate(request_latency_seconds[$range])",
  "increase(margin_celsius[$range])",
  "irate(batch_bytes[$range])",
  "delta(queue_depth[$range])",
  "rate(queue_depth[$range])",
  "resets(request_latency_seconds[$range])",
  "changes(batch_bytes[$range])",
  "sum(request_latency_seconds)",
  "avg by (gpu) (rate(batch_bytes[$range]))",
  "sum_over_time(queue_depth[$range])",
  "avg_over_time(request_latency_seconds[$range])",
  "request_latency_seconds * 2 - request_latency_seconds",
  "max(request_latency_seconds) or rate(power_watts[$range])",
  "count_over_time(request_latency_seconds[$range]) > 3",
  "last_over_time(margin_celsius[$range])",
  "rate(sum(request_latency_seconds)[$range:$step]) and on () tokens_total",
];

export interface NativeScrapeOptions {
  /** The Prometheus to compare with. */
  readonly program: string;
  readonly args?: readonly string[];
  /** Keys of a scrape job that only this Prometheus or a newer one supports. */
  readonly job?: Readonly<Record<string, unknown>>;
  /** How long both scrape. */
  readonly forMs: number;
  /** How often the target changes; it is scraped slightly more than twice as often. */
  readonly everyMs: number;
  readonly queries: readonly string[];
}

export interface NativeScrapeOutcome {
  readonly asked: number;
  readonly answered: number;
  readonly different: readonly string[];
  /** The exemplars of each. */
  readonly exemplars: readonly [theirs: unknown, ours: unknown];
}

export async function compareNativeScrapes(
  options: NativeScrapeOptions,
): Promise<NativeScrapeOutcome> {
  const { everyMs, forMs } = options;
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-native-"));
  const endpoint = await startNativeEndpoint(everyMs, Math.ceil(forMs / everyMs / 1.6));
  const interval = `${Math.floor(everyMs / 2.2)}ms`;
  const scrape = (job: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> => ({
    global: { scrape_interval: interval, scrape_timeout: interval },
    scrape_configs: [
      { job_name: "native", static_configs: [{ targets: [endpoint.address] }], ...job },
    ],
  });
  const native = { scrape_native_histograms: true, convert_classic_histograms_to_nhcb: true };
  const config = path.join(folder, "prometheus.yml");
  await writeFile(config, JSON.stringify(scrape(native)));
  const hub = await startHub({
    dataDir: path.join(folder, "data"),
    args: [`--prometheus-config=${config}`],
  });
  let prometheus: RunningPrometheus | undefined;
  try {
    prometheus = await startPrometheus({
      path: options.program,
      config: scrape(options.job ?? native),
      args: options.args ?? [],
      logLevel: "warn",
    });
    const beginMs = Date.now();
    await sleep(forMs);
    return await compare(prometheus.url, hub.url, beginMs, options);
  } finally {
    await prometheus?.stop();
    await hub.stop();
    await endpoint.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Compares the states that both had time to scrape: not the first and the last ones. */
async function compare(
  theirUrl: string,
  ourUrl: string,
  beginMs: number,
  { everyMs, forMs, queries }: NativeScrapeOptions,
): Promise<NativeScrapeOutcome> {
  const step = everyMs / 1_000;
  const start = Math.ceil(beginMs / everyMs) * step + 12 * step;
  const end = Math.floor((beginMs + forMs) / everyMs) * step - 2 * step;
  const [theirs, ours] = [askOf(theirUrl), askOf(ourUrl)];
  const different: string[] = [];
  let [asked, answered] = [0, 0];
  for (const text of queries) {
    const query = text.replaceAll("$range", `${10 * step}s`).replaceAll("$step", `${step}s`);
    for (const times of [
      { start, end },
      { start, end, step },
    ]) {
      const [wanted, got] = [await theirs({ query, ...times }), await ours({ query, ...times })];
      asked++;
      if ((wanted.data as { result?: readonly unknown[] } | undefined)?.result?.length !== 0)
        answered++;
      const difference = differenceOf(got, wanted);
      if (difference !== undefined) different.push(`${query}: ${difference.slice(0, 800)}`);
    }
  }
  const exemplars = await Promise.all(
    [theirUrl, ourUrl].map((url) => exemplarsOf(url, start, end)),
  );
  return { asked, answered, different, exemplars: [exemplars[0], exemplars[1]] };
}

async function exemplarsOf(url: string, start: number, end: number): Promise<unknown> {
  const params = new URLSearchParams({
    query: "request_latency_seconds",
    start: String(start),
    end: String(end),
  });
  const response = await fetch(`${url}/api/v1/query_exemplars?${params.toString()}`);
  return ((await response.json()) as { data?: unknown }).data;
}
