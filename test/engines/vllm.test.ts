// vLLM's real metric names beside simulated GPUs, scraped by a real Prometheus and by the hub with one file: the rules
// of the stack have data, energy per token equals a manual calculation, and a full KV cache fires and resolves.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { ensureBuild, repository, type RunningAgent, startAgent } from "../../engines/program.ts";
import { findTool } from "../../engines/tools.ts";
import { waitUntil } from "../../engines/wait.ts";
import { type ScrapePair, startScrapePair } from "./scrape-pair.ts";
import { serveVllmPage, type VllmServer } from "./vllm-page.ts";

const WAIT_MS = 90_000;
const found = findTool("prometheus");
const missing = "missing" in found ? found.missing : undefined;

let folder: string;
let vllm: VllmServer;
let agent: RunningAgent;
let pair: ScrapePair;

/** The shipped rules with shorter intervals, ranges and `for` durations. */
function quickRules(): string {
  const shipped = path.join(repository, "deploy/prometheus/rules/stack/vllm.yml");
  return readFileSync(shipped, "utf8")
    .replaceAll(/interval: 15s/g, "interval: 1s")
    .replaceAll("[1m]", "[15s]")
    .replaceAll(/for: \d+m$/gm, "for: 1s");
}

beforeAll(async () => {
  if (!("path" in found)) return;
  await ensureBuild();
  folder = mkdtempSync(path.join(tmpdir(), "gpulse-vllm-"));
  const rules = path.join(folder, "vllm.yml");
  writeFileSync(rules, quickRules());
  vllm = await serveVllmPage();
  agent = await startAgent(["--source", "sim:8?seed=3", "--host-name", "node-1"]);
  const scrape = (job: string, address: string, labels = {}): object => ({
    job_name: job,
    static_configs: [{ targets: [address], labels }],
  });
  pair = await startScrapePair(found.path, {
    global: { scrape_interval: "1s", scrape_timeout: "1s" },
    rule_files: [rules],
    scrape_configs: [
      scrape("gpu", `127.0.0.1:${agent.port}`),
      scrape("vllm", vllm.address, { host: "node-1" }),
    ],
  });
}, 180_000);

afterAll(async () => {
  await Promise.all([pair?.stop(), agent?.stop(), vllm?.stop()]);
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly value?: readonly [number, string];
  readonly values?: readonly (readonly [number, string])[];
}

async function ask(url: string, query: string, time?: number): Promise<readonly Series[]> {
  const at = time === undefined ? "" : `&time=${time}`;
  const answer = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(query)}${at}`);
  const { data } = (await answer.json()) as { data: { result: readonly Series[] } };
  return data.result;
}

const engines = [
  ["real Prometheus", () => pair.prometheus.url],
  ["the hub", () => pair.hub.url],
] as const;

test.for(engines)("fills every recording rule in %s", async ([, url], context) => {
  if (missing !== undefined) return context.skip(missing);
  const names = [...quickRules().matchAll(/record: (\S+)/g)].map(([, name = ""]) => name);
  expect(names.length).toBeGreaterThan(15);
  await waitUntil(
    { what: "every recording rule to have a value", timeoutMs: WAIT_MS },
    async () => {
      for (const name of names)
        if ((await ask(url(), name)).length === 0) throw new Error(`nothing in ${name}`);
      return true;
    },
  );
});

test.for(engines)(
  "reports tokens per joule in %s as they come out by hand",
  async ([, url], context) => {
    if (missing !== undefined) return context.skip(missing);
    const ratio = "host:vllm_generation_tokens_per_joule:rate1m";
    const per = (tokens: number): number => tokens / vllm.state.generationTokensPerSecond;
    // A rate over a longer range than the data is too small; a busy machine scrapes unevenly.
    const { at, value, rate } = await waitUntil(
      { what: "the page's own rate", timeoutMs: WAIT_MS },
      async () => {
        const last = (await ask(url(), `${ratio}[10s]`))[0]?.values?.at(-1);
        if (last === undefined) return undefined;
        const tokens = await ask(url(), "host_model:vllm_generation_tokens:rate1m", last[0]);
        const now = Number(tokens[0]?.value?.[1]);
        if (!(per(now) > 0.8 && per(now) < 1.2)) throw new Error(`${now} tokens a second`);
        return { at: last[0], value: Number(last[1]), rate: now };
      },
    );
    const power = await ask(url(), "gpu_power_watts[15s]", at);
    expect(power).toHaveLength(8);
    const watts = power
      .map(
        ({ values = [] }) =>
          values.reduce((sum, [, text]) => sum + Number(text), 0) / values.length,
      )
      .reduce((sum, mean) => sum + mean, 0);
    expect(value).toBeGreaterThan(0);
    // A scrape in progress during the rule's evaluation is visible here but was not to the rule.
    expect(Math.abs(value / (rate / watts) - 1)).toBeLessThan(0.05);
    const cost = await ask(url(), "host:vllm_joules_per_generation_token:rate1m", at);
    expect(Number(cost[0]?.value?.[1]) * value).toBeCloseTo(1, 6);
  },
);

test("fires when the KV cache is full, and clears, in both", async (context) => {
  if (missing !== undefined) return context.skip(missing);
  const fires = async (): Promise<readonly boolean[]> =>
    Promise.all(
      engines.map(async ([, url]) => {
        const firing = `ALERTS{alertname="VllmKvCacheFull",alertstate="firing"}`;
        return (await ask(url(), firing)).length === 1;
      }),
    );
  const until = (wanted: boolean): Promise<true> =>
    waitUntil({ what: `VllmKvCacheFull to be ${wanted}`, timeoutMs: WAIT_MS }, async () =>
      (await fires()).every((one) => one === wanted) ? true : undefined,
    );
  await until(false);
  vllm.state.kvCacheUsage = 0.99;
  await until(true);
  vllm.state.kvCacheUsage = 0.3;
  await until(false);
}, 300_000);
