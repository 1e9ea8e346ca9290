// The real frontend of NVIDIA Dynamo with its mocker, which uses vLLM's metric names, beside simulated GPUs: what the
// hub reports for a known number of requests and tokens, in the API, the command and the page; also for unusual or
// broken pages.

import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

import * as v from "valibot";
import { afterAll, beforeAll, expect, test } from "vitest";

import { dynamoPython, type RunningDynamo, startDynamo } from "../../engines/dynamo.ts";
import { freePort } from "../../engines/ports.ts";
import { ensureBuild, runGpulse } from "../../engines/program.ts";
import { findTool } from "../../engines/tools.ts";
import { waitUntil } from "../../engines/wait.ts";
import { type Serving, servingSchema } from "../../src/view/serving/figures.ts";
import { openBrowser, openPage } from "../web/browser.ts";
import { layoutFaults } from "../web/layouts.ts";
import { type RunningUp, startUp } from "../web/up.ts";

const WAIT_MS = 90_000;
const REQUESTS = 12;
const PROMPT_TOKENS = 200;
const GENERATED_TOKENS = 40;

let folder: string;
let dynamo: RunningDynamo;
let odd: Server;
let up: RunningUp;

/** Pages that a scrape may meet: impossible values, a cut-off line, text that is not a metrics page. */
const oddPages: Readonly<Record<string, string>> = {
  "/impossible": `vllm:num_requests_running{model_name="odd"} 2
vllm:num_requests_waiting{model_name="odd"} -4
vllm:kv_cache_usage_perc{model_name="odd"} 87
vllm:time_to_first_token_seconds_bucket{model_name="odd",le="0.5"} 10
`,
  "/cut": `vllm:num_requests_running{model_name="cut"} 2
vllm:num_requests_waiting{model_na`,
  "/html": "<!doctype html><title>vllm:num_requests_running</title>",
};

beforeAll(async () => {
  await Promise.all([ensureBuild(), dynamoPython()]);
  folder = mkdtempSync(path.join(tmpdir(), "gpulse-serving-"));
  dynamo = await startDynamo();
  odd = createServer(({ url = "" }, response) => {
    response.writeHead(200, { "content-type": "text/plain; version=0.0.4" }).end(oddPages[url]);
  });
  odd.listen(0, "127.0.0.1");
  await once(odd, "listening");
  const oddAddress = `127.0.0.1:${(odd.address() as AddressInfo).port}`;
  const job = (name: string, target: string, more = {}) => ({
    job_name: name,
    static_configs: [{ targets: [target] }],
    ...more,
  });
  const config = path.join(folder, "prometheus.yml");
  writeFileSync(
    config,
    JSON.stringify({
      global: { scrape_interval: "1s", scrape_timeout: "1s" },
      scrape_configs: [
        job("frontend", dynamo.frontend),
        job("worker", dynamo.worker),
        ...Object.keys(oddPages).map((page) =>
          job(page.slice(1), oddAddress, { metrics_path: page }),
        ),
      ],
    }),
  );
  up = await startUp(await freePort(), "sim:2", ["--prometheus-config", config]);
}, 300_000);

afterAll(async () => {
  await up?.process.stop();
  await dynamo?.stop();
  odd?.close();
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

async function complete(): Promise<void> {
  const words = Array.from({ length: PROMPT_TOKENS }, (_, at) => `w${3 + at}`);
  const answer = await fetch(`http://${dynamo.frontend}/v1/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      model: dynamo.model,
      prompt: words.join(" "),
      max_tokens: GENERATED_TOKENS,
    }),
    signal: AbortSignal.timeout(60_000),
  });
  const { usage } = (await answer.json()) as {
    usage: { prompt_tokens: number; completion_tokens: number };
  };
  expect(usage).toMatchObject({
    prompt_tokens: PROMPT_TOKENS,
    completion_tokens: GENERATED_TOKENS,
  });
}

async function serving(): Promise<Serving> {
  const answer = await fetch(`${up.url}api/serving`);
  return v.parse(servingSchema, await answer.json());
}

type Replica = Serving["replicas"][number];
const of = ({ replicas }: Serving, job: string): Replica | undefined =>
  replicas.find((replica) => replica.job === job);
const valueOf = (replica: Replica | undefined, name: keyof Replica["figures"]): number => {
  const figure = replica?.figures[name];
  return figure !== undefined && "value" in figure ? figure.value : Number.NaN;
};

test("Dynamo's frontend and its vLLM worker are recognised, and the tokens of known requests come out", async () => {
  // The first request creates the model's series; the hub has scraped them before the other requests start.
  await complete();
  await waitUntil({ what: "frontend and worker to be listed", timeoutMs: WAIT_MS }, async () => {
    const found = await serving();
    return valueOf(of(found, "frontend"), "generatedTokens") >= 0 &&
      valueOf(of(found, "worker"), "kvCache") >= 0
      ? true
      : undefined;
  });
  const started = Date.now();
  for (let at = 0; at < REQUESTS; at += 4)
    await Promise.all(Array.from({ length: 4 }, async () => complete()));
  const found = await waitUntil(
    { what: "all requests to be counted", timeoutMs: WAIT_MS },
    async () => {
      const now = await serving();
      const frontend = of(now, "frontend");
      // The first request may have been scraped in progress: up to one in twelve of either count is missing.
      const isNear = (value: number, wanted: number): boolean =>
        Math.abs(value / wanted - 1) < 0.15;
      const [prompt, generated] = [
        valueOf(frontend, "promptTokens"),
        valueOf(frontend, "generatedTokens"),
      ];
      const isWhole =
        isNear(prompt / generated, PROMPT_TOKENS / GENERATED_TOKENS) &&
        isNear(generated / valueOf(frontend, "requests"), GENERATED_TOKENS);
      return isWhole && valueOf(frontend, "running") === 0 ? now : undefined;
    },
  );
  const frontend = of(found, "frontend");
  const seconds = (Date.now() - started) / 1_000;
  expect(valueOf(frontend, "generatedTokens")).toBeGreaterThan(
    (REQUESTS * GENERATED_TOKENS) / (seconds + 60),
  );
  expect(frontend).toMatchObject({
    program: "NVIDIA Dynamo",
    role: "router",
    model: "tiny",
    gpus: { absent: expect.stringContaining("servers behind it") as string },
  });
  const worker = of(found, "worker");
  expect(worker).toMatchObject({ program: "vLLM", role: "engine", model: "tiny", problems: [] });
  expect(worker?.gpus).toMatchObject({ by: "host" });
  for (const replica of [frontend, worker]) {
    expect(valueOf(replica, "timeToFirstTokenP50")).toBeGreaterThan(0);
    expect(valueOf(replica, "interTokenP50")).toBeGreaterThan(0);
    expect(valueOf(replica, "withinSlo")).toBeGreaterThan(0.9);
  }
  // The mocker has vLLM's latencies but no token counters, which stay absent.
  expect(worker?.figures.generatedTokens).toEqual({
    absent: "This vLLM does not expose it.",
  });
  expect(worker?.figures.generatedPerJouleAtSlo).toMatchObject({
    absent: expect.any(String) as string,
  });
}, 200_000);

test("odd pages lose what is odd and nothing else; broken ones are scrape errors", async () => {
  const found = await serving();
  const impossible = of(found, "impossible");
  expect(impossible?.figures).toMatchObject({
    running: { value: 2 },
    waiting: { absent: expect.stringContaining("impossible") as string },
    kvCache: { absent: expect.stringContaining("impossible") as string },
    timeToFirstTokenP99: { absent: expect.stringContaining("+Inf") as string },
  });
  expect(impossible?.problems).toHaveLength(3);
  expect([of(found, "cut"), of(found, "html")]).toEqual([undefined, undefined]);
  const answer = await fetch(`${up.url}api/v1/query?query=${encodeURIComponent("up == 0")}`);
  const { data } = (await answer.json()) as { data: { result: { metric: { job: string } }[] } };
  expect(data.result.map(({ metric }) => metric.job).sort()).toEqual(["cut", "html"]);
});

test("gpulse serving prints the same servers", async () => {
  const { stdout, code } = await runGpulse(["serving", "tiny", "--details", "--url", up.url]);
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /tiny on NVIDIA Dynamo, 127\.0\.0\.1:\d+\n {2}GPUs: It passes requests on/,
  );
  expect(stdout).toMatch(/tiny on vLLM/);
  expect(stdout).toMatch(/TTFT p99 +[\d.]+ m?s/);
});

test("the Serving page shows them in a browser, at all widths and in both themes", async (context) => {
  const chromium = findTool("chromium");
  if ("missing" in chromium) return context.skip(chromium.missing);
  const browser = await openBrowser(chromium.path);
  try {
    const { page, complaints, strangers } = await openPage(
      browser,
      `${up.url}serving`,
      {},
      ".servers tbody a",
    );
    const rows = await page.locator(".servers tbody tr").allInnerTexts();
    expect(rows.join("\n")).toMatch(/NVIDIA Dynamo/);
    expect(await layoutFaults(page, "serving")).toEqual([]);
    await page.locator("tr", { hasText: "Dynamo" }).locator("a").first().click();
    await page.locator(".server .facts").first().waitFor();
    expect(await page.locator(".server").innerText()).toContain("Prefill and decode");
    expect({ complaints, strangers }).toEqual({ complaints: [], strangers: [] });
  } finally {
    await browser.close();
  }
}, 120_000);
