// The real server of llama.cpp beside simulated GPUs: the hub recognises it and reports the tokens of known requests.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import * as v from "valibot";
import { afterAll, beforeAll, expect, test } from "vitest";

import { orSkip } from "../../engines/cache.ts";
import { llamaCpp, type RunningLlamaCpp, startLlamaCpp } from "../../engines/llamacpp.ts";
import { freePort } from "../../engines/ports.ts";
import { ensureBuild } from "../../engines/program.ts";
import { waitUntil } from "../../engines/wait.ts";
import { type Serving, servingSchema } from "../../src/view/serving/figures.ts";
import { type RunningUp, startUp } from "../web/up.ts";

const REQUESTS = 8;
const GENERATED_TOKENS = 50;

const folder = mkdtempSync(path.join(tmpdir(), "gpulse-llamacpp-test-"));
let server: RunningLlamaCpp | undefined;
let up: RunningUp | undefined;

beforeAll(ensureBuild, 300_000);
afterAll(async () => {
  await up?.process.stop();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Prompts differ from the first letter on: llama.cpp does not count tokens from its cache. */
async function complete(
  address: string,
  at: number,
): Promise<{ prompt: number; generated: number }> {
  const answer = await fetch(`http://${address}/v1/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      prompt: String.fromCharCode(97 + at).repeat(200),
      max_tokens: GENERATED_TOKENS,
      ignore_eos: true,
      cache_prompt: false,
    }),
    signal: AbortSignal.timeout(60_000),
  });
  const { usage } = (await answer.json()) as {
    usage: { prompt_tokens: number; completion_tokens: number };
  };
  return { prompt: usage.prompt_tokens, generated: usage.completion_tokens };
}

test("llama.cpp is recognised, its tokens are counted, and what it does not expose has a reason", async (context) => {
  await orSkip(context, llamaCpp());
  server = await startLlamaCpp();
  const config = path.join(folder, "prometheus.yml");
  writeFileSync(
    config,
    JSON.stringify({
      global: { scrape_interval: "1s", scrape_timeout: "1s" },
      scrape_configs: [{ job_name: "llama", static_configs: [{ targets: [server.address] }] }],
    }),
  );
  up = await startUp(await freePort(), "sim:2", ["--prometheus-config", config]);
  const { url } = up;
  const serving = async (): Promise<Serving["replicas"][number] | undefined> => {
    const answer = await fetch(`${url}api/serving`);
    return v.parse(servingSchema, await answer.json()).replicas.find(({ job }) => job === "llama");
  };
  const read = async (metric: string): Promise<number> => {
    const answer = await fetch(`${url}api/v1/query?query=${encodeURIComponent(metric)}`);
    const { data } = (await answer.json()) as { data: { result: { value: [number, string] }[] } };
    return Number(data.result[0]?.value[1] ?? Number.NaN);
  };
  await waitUntil({ what: "the server to be listed", timeoutMs: 60_000 }, async () =>
    (await serving()) === undefined ? undefined : true,
  );
  let [prompt, generated] = [0, 0];
  for (let at = 0; at < REQUESTS; at++) {
    const used = await complete(server.address, at);
    prompt += used.prompt;
    generated += used.generated;
  }
  expect(generated).toBe(REQUESTS * GENERATED_TOKENS);
  await waitUntil({ what: "the last scrape", timeoutMs: 60_000 }, async () =>
    (await read("llamacpp:tokens_predicted_total")) === generated ? true : undefined,
  );
  expect(await read("llamacpp:prompt_tokens_total")).toBe(prompt);
  const replica = await waitUntil({ what: "the rate of tokens", timeoutMs: 60_000 }, async () => {
    const found = await serving();
    const rate = found?.figures.generatedTokens;
    return rate !== undefined && "value" in rate && rate.value > 0 ? found : undefined;
  });
  expect(replica).toMatchObject({ program: "llama.cpp", role: "engine", problems: [] });
  const { promptTokens, generatedTokens, running, waiting, timeToFirstTokenP50, requests } =
    replica.figures;
  if (!("value" in promptTokens) || !("value" in generatedTokens))
    throw new Error("no rate of tokens");
  expect(promptTokens.value / generatedTokens.value).toBeCloseTo(prompt / generated, 1);
  expect([running, waiting]).toEqual([{ value: 0 }, { value: 0 }]);
  expect(timeToFirstTokenP50).toEqual({ absent: "llama.cpp's server exposes no latencies." });
  expect(requests).toEqual({ absent: "llama.cpp's server does not count requests." });
}, 200_000);
