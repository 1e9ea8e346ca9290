import { Registry } from "prom-client";
import { expect, test } from "vitest";

import { Engine } from "./engine.ts";
import { newSequence } from "./sequence.ts";
import { oneTwoFive, tellEngines, watchAsVllm } from "./vllm-metrics.ts";

const settings = { modelName: "m", maxModelTokens: 4_096, kvTokens: 1_600, gpus: 1 };

async function pageAfter(requests: number): Promise<string> {
  const registry = new Registry();
  const engine = new Engine(0, { slots: 2, kvTokens: 1_600 }, watchAsVllm(registry, settings));
  tellEngines(registry, settings, [engine]);
  for (let id = 0; id < requests; id += 1) {
    const of = { id: `${id}`, promptTokens: 10, maxTokens: 5, outputTokens: 5 };
    engine.submit(newSequence(of, 0), "", 0);
  }
  engine.advance(60_000);
  return registry.metrics();
}

test("what is counted is what was served", async () => {
  const page = await pageAfter(3);
  const labels = 'model_name="m",engine="0"';
  for (const line of [
    `vllm:prompt_tokens_total{${labels}} 30`,
    `vllm:generation_tokens_total{${labels}} 15`,
    `vllm:prefix_cache_queries_total{${labels}} 30`,
    `vllm:request_success_total{${labels},finished_reason="length"} 3`,
    `vllm:time_to_first_token_seconds_count{${labels}} 3`,
    `vllm:inter_token_latency_seconds_count{${labels}} 12`,
    `vllm:e2e_request_latency_seconds_count{${labels}} 3`,
    `vllm:request_generation_tokens_sum{${labels}} 15`,
    `vllm:num_requests_running{${labels}} 0`,
    `vllm:kv_cache_usage_perc{${labels}} 0`,
  ])
    expect(page).toContain(`\n${line}\n`);
});

test("a request's times add up: queue, prefill and decode are the whole", async () => {
  const page = await pageAfter(5);
  const sum = (name: string): number =>
    Number(new RegExp(`^vllm:${name}_sum\\{.*\\} (.*)$`, "m").exec(page)?.[1]);
  const parts = ["queue", "prefill", "decode"].map((part) => sum(`request_${part}_time_seconds`));
  const whole = parts.reduce((total, part) => total + part, 0);
  expect(sum("e2e_request_latency_seconds")).toBeCloseTo(whole);
  expect(sum("time_to_first_token_seconds")).toBeCloseTo((parts[0] ?? 0) + (parts[1] ?? 0));
});

test("every series is there before the first request", async () => {
  const page = await pageAfter(0);
  expect(page).toContain('vllm:generation_tokens_total{model_name="m",engine="0"} 0');
  expect(page).toContain('vllm:time_to_first_token_seconds_count{model_name="m",engine="0"} 0');
});

test("sizes are counted in steps of 1, 2 and 5 up to the longest there can be", () => {
  expect(oneTwoFive(100)).toEqual([1, 2, 5, 10, 20, 50, 100]);
  expect(oneTwoFive(4_096).at(-1)).toBe(2_000);
});
