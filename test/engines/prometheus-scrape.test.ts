// A real Prometheus scrapes the agent in both formats and must accept every sample without a warning.

import { afterAll, beforeAll, expect, test } from "vitest";

import { runProcess } from "../../engines/process.ts";
import { startAgent } from "../../engines/program.ts";
import { type RunningPrometheus, startPrometheus } from "../../engines/prometheus.ts";
import { type RunningRelay, startScrapeRelay } from "../../engines/scrape-relay.ts";
import { findTool, toolOrSkip } from "../../engines/tools.ts";
import { waitUntil } from "../../engines/wait.ts";

const TEXT = "text/plain;version=0.0.4";
const SCRAPES = 5;
const JOBS = ["openmetrics", "text"] as const;

const found = findTool("prometheus");
const stops: (() => Promise<void>)[] = [];
let agentUrl: string;
let prometheus: RunningPrometheus;
const relays = new Map<string, RunningRelay>();

beforeAll(async () => {
  const agent = await startAgent(["--source", "sim:8", "--interval", "1s"]);
  agentUrl = agent.url;
  stops.push(() => agent.stop());
  if (!("path" in found)) return;
  for (const job of JOBS) {
    const accept = job === "text" ? { accept: TEXT } : {};
    const relay = await startScrapeRelay({ target: agent.url, ...accept });
    relays.set(job, relay);
    stops.unshift(() => relay.stop());
  }
  prometheus = await startPrometheus({
    path: found.path,
    config: {
      global: { scrape_interval: "1s", scrape_timeout: "1s" },
      scrape_configs: JOBS.map((job) => ({
        job_name: job,
        static_configs: [{ targets: [relays.get(job)?.address] }],
      })),
    },
  });
  stops.unshift(() => prometheus.stop());
});

afterAll(async () => {
  for (const stop of stops) await stop();
});

async function valueOf(expression: string): Promise<number | undefined> {
  const value = (await prometheus.query(expression))[0]?.value[1];
  return value === undefined ? undefined : Number(value);
}

async function afterSomeScrapes(job: string): Promise<void> {
  await waitUntil({ what: `${SCRAPES} scrapes of job ${job}`, timeoutMs: 60_000 }, async () => {
    const scrapes = await valueOf(`count_over_time(up{job="${job}"}[10m])`);
    return (scrapes ?? 0) >= SCRAPES ? true : undefined;
  });
}

const FORMATS = [
  { job: "openmetrics", contentType: /^application\/openmetrics-text/ },
  { job: "text", contentType: /^text\/plain/ },
];

test.for(FORMATS)("Prometheus takes every sample of the $job format", async (format, context) => {
  toolOrSkip(context, "prometheus");
  const { job, contentType } = format;
  await afterSomeScrapes(job);

  const types = relays.get(job)?.contentTypes() ?? [];
  expect(types).toHaveLength(1);
  expect(types[0]).toMatch(contentType);

  const target = (await prometheus.targets()).find((one) => one.scrapePool === job);
  expect(target).toMatchObject({ health: "up", lastError: "" });
  expect(await valueOf(`min_over_time(up{job="${job}"}[10m])`)).toBe(1);

  const scraped = await valueOf(`scrape_samples_scraped{job="${job}"}`);
  expect(scraped).toBeGreaterThan(0);
  expect(await valueOf(`scrape_samples_post_metric_relabeling{job="${job}"}`)).toBe(scraped);
  expect(await valueOf(`count(gpu_up{job="${job}"})`)).toBe(8);
});

test("Prometheus logs no problem and drops no sample", async (context) => {
  toolOrSkip(context, "prometheus");
  for (const job of JOBS) await afterSomeScrapes(job);
  const complaints = prometheus
    .log()
    .split("\n")
    .filter((line) => /level=(warn|error)|component="scrape manager".*err=/.test(line));
  expect(complaints).toEqual([]);

  const own = await (await fetch(`${prometheus.url}/metrics`)).text();
  const counters = own.match(/^prometheus_target_scrapes_(sample|exceeded)_\w+_total .*$/gm) ?? [];
  expect(counters.length).toBeGreaterThan(3);
  expect(counters.filter((line) => !line.endsWith(" 0"))).toEqual([]);
});

test("promtool finds nothing to say about the page", async (context) => {
  const promtool = toolOrSkip(context, "promtool");
  const input = await (await fetch(`${agentUrl}/metrics`)).text();
  const { code, stdout, stderr } = await runProcess(promtool, ["check", "metrics"], { input });
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "", stderr: "" });
});
