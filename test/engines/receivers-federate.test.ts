// /federate of the hub compared with that of a real Prometheus with the same samples, and a real Prometheus that scrapes
// it.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { WriteClient, WriteRequests } from "../../bench/remote-write.ts";
import { type RunningHub, startHub } from "../../engines/hub.ts";
import { type RunningPrometheus, startPrometheus } from "../../engines/prometheus.ts";
import { findTool, toolOrSkip } from "../../engines/tools.ts";
import { waitUntil } from "../../engines/wait.ts";
import { labelSet } from "../../src/model/labels.ts";

const found = findTool("prometheus");
const stops: (() => Promise<void>)[] = [];
let hub: RunningHub;
let prometheus: RunningPrometheus;

const series = [
  labelSet({ __name__: "gpu_power_watts", gpu: "0", instance: "a:9400", job: "gpulse" }),
  labelSet({ __name__: "gpu_power_watts", gpu: "1", instance: "a:9400", job: "gpulse" }),
  labelSet({ __name__: "no_instance", job: "gpulse" }),
  labelSet({ __name__: "quoted", job: "gpulse", text: 'a "b" \\ c\nd' }),
  labelSet({ __name__: "values_total", job: "gpulse", kind: "large" }),
  labelSet({ __name__: "values_total", job: "gpulse", kind: "small" }),
  labelSet({ __name__: "other", job: "elsewhere" }),
];
const values = [93.5, 0, -1, 1, 1.5e21, 1e-7, 3];

beforeAll(async () => {
  if (!("path" in found)) return;
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-federate-"));
  stops.push(() => rm(folder, { recursive: true, force: true }));
  hub = await startHub({ dataDir: path.join(folder, "data") });
  stops.unshift(() => hub.stop());
  prometheus = await startPrometheus({
    path: found.path,
    config: {
      scrape_configs: [
        {
          job_name: "federate",
          scrape_interval: "1s",
          scrape_timeout: "1s",
          honor_labels: true,
          metrics_path: "/federate",
          params: { "match[]": ['{job="gpulse"}'] },
          static_configs: [{ targets: [new URL(hub.url).host] }],
        },
      ],
    },
  });
  stops.unshift(() => prometheus.stop());
});

afterAll(async () => {
  for (const stop of stops) await stop();
});

async function write(
  url: string,
  timesMs: readonly number[],
  valueOf: (series: number) => number,
): Promise<void> {
  const client = new WriteClient(url);
  const body = new WriteRequests(series).encode(0, series.length, timesMs, valueOf);
  const { status, text } = await client.send(body);
  client.close();
  if (status >= 300) throw new Error(`${url} answered ${status}: ${text}`);
}

/** The page's samples, with sorted labels because neither guarantees an order. Types are checked separately. */
async function federated(url: string, match: string): Promise<string[]> {
  const answer = await fetch(`${url}/federate?match[]=${encodeURIComponent(match)}`);
  const text = await answer.text();
  if (!answer.ok) throw new Error(text);
  return text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [, name = "", inside = "", rest = ""] = /^([^{]*)\{(.*)\} ([^}]*)$/.exec(line) ?? [];
      const labels = [...inside.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([label]) => label);
      return `${name}{${labels.sort().join(",")}} ${rest}`;
    })
    .sort();
}

test("both give the same samples, names in order, and neither what is older than the look-back", async (context) => {
  toolOrSkip(context, "prometheus");
  const nowMs = Date.now();
  for (const url of [hub.url, prometheus.url]) {
    await write(url, [nowMs - 2_000, nowMs - 1_000], (index) => values[index] ?? 0);
  }
  for (const match of [
    '{job="gpulse"}',
    "gpu_power_watts",
    '{__name__=~"values.*|quoted"}',
    "nothing",
  ]) {
    const theirs = await federated(prometheus.url, match);
    expect(await federated(hub.url, match)).toEqual(theirs);
    if (match !== "nothing") expect(theirs.length).toBeGreaterThan(1);
  }
  const page = await (await fetch(`${hub.url}/federate?match[]={job="gpulse"}`)).text();
  expect(page).toMatch(/^# TYPE gpu_power_watts gauge\n/);
});

test("a real Prometheus that scrapes it has every series with its labels, values and times", async (context) => {
  toolOrSkip(context, "prometheus");
  // Samples that were not sent to Prometheus: it can only have them from the scrape.
  const nowMs = Date.now();
  await write(hub.url, [nowMs], (index) => (values[index] ?? 0) * 2);
  const scraped = await waitUntil({ what: "the scraped samples", timeoutMs: 30_000 }, async () => {
    const all = await prometheus.query('{job="gpulse"}');
    const power = all.find(({ metric }) => metric["gpu"] === "0");
    return power?.value[1] === "187" ? all : undefined;
  });
  const reported = scraped.map(
    ({ metric, value }) => `${JSON.stringify(labelSet(metric))} ${Number(value[1])}`,
  );
  expect(reported.sort()).toEqual(
    series
      .slice(0, 6)
      .map((labels, index) => `${JSON.stringify(labels)} ${(values[index] ?? 0) * 2}`)
      .sort(),
  );
  expect((await prometheus.targets())[0]).toMatchObject({ health: "up", lastError: "" });
});
