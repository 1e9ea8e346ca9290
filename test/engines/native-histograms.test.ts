// A real Prometheus scrapes native histograms, remote-writes them to the hub and scrapes them back from its /federate;
// the hub scrapes the same endpoint itself. Both must return the same results for histogram queries.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { type RunningHub, startHub } from "../../engines/hub.ts";
import { type RunningPrometheus, startPrometheus } from "../../engines/prometheus.ts";
import { findTool, toolOrSkip } from "../../engines/tools.ts";
import { waitUntil } from "../../engines/wait.ts";
import { protobufPage, protobufType } from "../fixtures/formats/exposition-proto.ts";

const found = findTool("prometheus");
const stops: (() => Promise<void> | void)[] = [];
let prometheus: RunningPrometheus;
let hub: RunningHub;
const accepted = new Set<string>();

/** A histogram that grows with every request, with negative observations and an exemplar. */
function page(requests: number): Buffer {
  const counts = [requests, 2 * requests, requests];
  return protobufPage([
    {
      name: "app_latency_seconds",
      help: "Latency.",
      type: 4,
      metric: [
        {
          label: [{ name: "path", value: "/" }],
          histogram: {
            sample_count: 6 * requests,
            sample_sum: 1.5 * requests,
            schema: 2,
            zero_threshold: 0.001,
            zero_count: requests,
            positive_span: [
              { offset: -3, length: 2 },
              { offset: 2, length: 1 },
            ],
            positive_delta: counts.map((count, at) => count - (counts[at - 1] ?? 0)),
            negative_span: [{ offset: 1, length: 1 }],
            negative_delta: [requests],
            bucket: [
              {
                cumulative_count: requests,
                upper_bound: 1,
                exemplar: {
                  label: [{ name: "trace_id", value: `t${requests}` }],
                  value: 0.5,
                  timestamp: { seconds: Math.floor(Date.now() / 1_000) },
                },
              },
            ],
          },
        },
      ],
    },
    { name: "app_requests_total", type: 0, metric: [{ counter: { value: requests } }] },
  ]);
}

async function serve(): Promise<string> {
  let requests = 0;
  const server = http.createServer((request, response) => {
    accepted.add(`${request.headers["user-agent"]}: ${request.headers.accept}`);
    response.writeHead(200, { "content-type": protobufType }).end(page(++requests));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  stops.unshift(() => {
    server.close();
    server.closeAllConnections();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

beforeAll(async () => {
  if (!("path" in found)) return;
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-native-histograms-"));
  stops.push(() => rm(folder, { recursive: true, force: true }));
  const target = await serve();
  const config = path.join(folder, "prometheus.yml");
  const own = { job_name: "direct", static_configs: [{ targets: [target] }] };
  await writeFile(
    config,
    JSON.stringify({
      global: { scrape_interval: "1s", scrape_timeout: "1s", scrape_native_histograms: true },
      scrape_configs: [own],
    }),
  );
  hub = await startHub({
    dataDir: path.join(folder, "data"),
    args: ["--prometheus-config", config],
  });
  stops.unshift(() => hub.stop());
  prometheus = await startPrometheus({
    path: found.path,
    args: ["--enable-feature=native-histograms,exemplar-storage"],
    config: {
      global: { scrape_interval: "1s", scrape_timeout: "1s" },
      scrape_configs: [
        { job_name: "app", static_configs: [{ targets: [target] }] },
        {
          job_name: "federated",
          honor_labels: true,
          metrics_path: "/federate",
          params: { "match[]": ['{job="direct"}'] },
          static_configs: [{ targets: [hub.url.replace("http://", "")] }],
        },
      ],
      remote_write: [
        {
          url: `${hub.url}/api/v1/write`,
          send_native_histograms: true,
          send_exemplars: true,
          write_relabel_configs: [{ source_labels: ["job"], regex: "app", action: "keep" }],
          queue_config: { batch_send_deadline: "500ms", max_backoff: "500ms" },
        },
      ],
    },
  });
  stops.unshift(() => prometheus.stop());
  await waitUntil({ what: "fifteen histograms at the hub", timeoutMs: 60_000 }, async () => {
    const [counted] = await answers(
      hub.url,
      'count_over_time(app_latency_seconds{job="app"}[10m])',
    );
    return Number(counted?.value[1] ?? 0) >= 15 ? true : undefined;
  });
});

afterAll(async () => {
  for (const stop of stops) await stop();
});

interface Answer {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

async function answers(url: string, query: string, timeS = Date.now() / 1_000): Promise<Answer[]> {
  const route = `/api/v1/query?query=${encodeURIComponent(query)}&time=${timeS}`;
  const answer = (await (await fetch(url + route)).json()) as { data?: { result: Answer[] } };
  return answer.data?.result ?? [];
}

test("the hub and Prometheus ask for protobuf first", (context) => {
  toolOrSkip(context, "prometheus");
  for (const line of accepted) expect(line).toMatch(/: application\/vnd\.google\.protobuf;/);
});

// Within a bucket of a native histogram, Prometheus 3 interpolates on a logarithmic scale and 2.42 on a linear one, so
// only quantiles at bucket bounds are compared.
test.for([
  'histogram_count(app_latency_seconds{job="app"})',
  'histogram_sum(app_latency_seconds{job="app"})',
  'histogram_quantile(0, app_latency_seconds{job="app"})',
  'histogram_quantile(0.5, app_latency_seconds{job="app"})',
  'histogram_quantile(1, app_latency_seconds{job="app"})',
  'histogram_fraction(0, 0.9, app_latency_seconds{job="app"})',
  'histogram_quantile(1, sum(app_latency_seconds{job="app"}))',
  'histogram_count(rate(app_latency_seconds{job="app"}[8500ms]))',
  'histogram_sum(increase(app_latency_seconds{job="app"}[8500ms]))',
  'histogram_count(sum(app_latency_seconds{job="app"}))',
  'app_requests_total{job="app"}',
])("%s is the same from both", async (query, context) => {
  toolOrSkip(context, "prometheus");
  // All samples have arrived by then.
  const timeS = Math.floor(Date.now() / 1_000) - 4;
  const theirs = await answers(prometheus.url, query, timeS);
  expect(theirs).toHaveLength(1);
  const [ours] = await answers(hub.url, query, timeS);
  expect(Number(ours?.value[1])).toBeCloseTo(Number(theirs[0]?.value[1]), 9);
});

test("what the hub scraped itself comes to Prometheus by /federate", async (context) => {
  toolOrSkip(context, "prometheus");
  const query = 'histogram_quantile(0.5, app_latency_seconds{job="direct"})';
  const [ours] = await answers(hub.url, query);
  expect(Number(ours?.value[1])).toBeGreaterThan(0);
  const theirs = await waitUntil({ what: "a federated histogram", timeoutMs: 30_000 }, async () => {
    const [one] = await answers(prometheus.url, query);
    return one;
  });
  expect(Number(theirs.value[1])).toBeCloseTo(Number(ours?.value[1]), 9);
  const text = await (await fetch(`${hub.url}/federate?match[]={job="direct"}`)).text();
  expect(text).toMatch(/^app_requests_total\{/m);
  expect(text).not.toMatch(/app_latency_seconds\{/);
});

test("exemplars of the remote-written histogram are found", async (context) => {
  toolOrSkip(context, "prometheus");
  const nowS = Date.now() / 1_000;
  const route = `/api/v1/query_exemplars?query=app_latency_seconds&start=${nowS - 600}&end=${nowS}`;
  const answer = (await (await fetch(hub.url + route)).json()) as {
    data: { exemplars: { labels: { trace_id: string } }[] }[];
  };
  const traces = answer.data.flatMap(({ exemplars }) => exemplars);
  expect(traces[0]?.labels.trace_id).toMatch(/^t\d+$/);
});
