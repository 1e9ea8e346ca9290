// A page like that of vLLM's v1 engine: its real names, types, labels and buckets, with steadily growing counters and
// consistent histograms. No model runs behind it.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const FIRST_TOKEN_BOUNDS = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80,
  160, 640, 2560,
];
const TOKEN_BOUNDS = [
  0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80,
];
const REQUEST_BOUNDS = [
  0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680,
];
const SIZE_BOUNDS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000,
];
const STEP_BOUNDS = [1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384];

export interface VllmState {
  readonly model: string;
  readonly generationTokensPerSecond: number;
  readonly promptTokensPerSecond: number;
  readonly requestsPerSecond: number;
  running: number;
  waiting: number;
  kvCacheUsage: number;
  preemptions: number;
}

/** The page after this many seconds of serving. */
export function vllmPage(state: Readonly<VllmState>, seconds: number): string {
  const own = { model_name: state.model, engine: "0" };
  const lines: string[] = [];
  const number = (value: number): string => (Number.isInteger(value) ? `${value}.0` : `${value}`);
  const sample = (name: string, labels: Readonly<Record<string, string>>, value: number): void => {
    const text = Object.entries(labels).map(([key, label]) => `${key}="${label}"`);
    lines.push(`${name}{${text.join(",")}} ${number(value)}`);
  };
  const head = (name: string, type: string): void =>
    void lines.push(`# HELP ${name} As vLLM reports it.`, `# TYPE ${name} ${type}`);
  const gauge = (name: string, value: number): void => {
    head(name, "gauge");
    sample(name, own, value);
  };
  const counter = (
    name: string,
    value: number,
    labels: Readonly<Record<string, string>> = {},
  ): void => {
    head(`${name}_total`, "counter");
    sample(`${name}_total`, { ...own, ...labels }, Math.floor(value));
  };
  /** A histogram with equal observations. */
  const histogram = (
    name: string,
    bounds: readonly number[],
    each: number,
    count: number,
  ): void => {
    head(name, "histogram");
    const whole = Math.floor(count);
    sample(`${name}_sum`, own, each * whole);
    for (const bound of bounds)
      sample(`${name}_bucket`, { le: number(bound), ...own }, each <= bound ? whole : 0);
    sample(`${name}_bucket`, { le: "+Inf", ...own }, whole);
    sample(`${name}_count`, own, whole);
  };

  const requests = state.requestsPerSecond * seconds;
  const tokens = state.generationTokensPerSecond * seconds;
  const prompts = state.promptTokensPerSecond * seconds;
  gauge("vllm:num_requests_running", state.running);
  gauge("vllm:num_requests_waiting", state.waiting);
  gauge("vllm:kv_cache_usage_perc", state.kvCacheUsage);
  counter("vllm:prefix_cache_queries", prompts);
  counter("vllm:prefix_cache_hits", prompts / 4);
  counter("vllm:num_preemptions", state.preemptions);
  counter("vllm:prompt_tokens", prompts);
  counter("vllm:generation_tokens", tokens);
  head("vllm:request_success_total", "counter");
  for (const [reason, share] of [
    ["stop", 0.9],
    ["length", 0.1],
    ["abort", 0],
  ] as const)
    sample(
      "vllm:request_success_total",
      { ...own, finished_reason: reason },
      Math.floor(requests * share),
    );
  histogram("vllm:request_prompt_tokens", SIZE_BOUNDS, prompts / requests, requests);
  histogram("vllm:request_generation_tokens", SIZE_BOUNDS, tokens / requests, requests);
  histogram("vllm:iteration_tokens_total", STEP_BOUNDS, 96, tokens / 96);
  histogram("vllm:request_params_max_tokens", SIZE_BOUNDS, 500, requests);
  histogram("vllm:time_to_first_token_seconds", FIRST_TOKEN_BOUNDS, 0.18, requests);
  histogram("vllm:inter_token_latency_seconds", TOKEN_BOUNDS, 0.021, tokens);
  histogram("vllm:e2e_request_latency_seconds", REQUEST_BOUNDS, 3.4, requests);
  histogram("vllm:request_queue_time_seconds", REQUEST_BOUNDS, 0.02, requests);
  histogram("vllm:request_prefill_time_seconds", REQUEST_BOUNDS, 0.16, requests);
  histogram("vllm:request_decode_time_seconds", REQUEST_BOUNDS, 3.2, requests);
  histogram("vllm:request_inference_time_seconds", REQUEST_BOUNDS, 3.36, requests);
  head("vllm:cache_config_info", "gauge");
  sample("vllm:cache_config_info", { block_size: "16", engine: "0", num_gpu_blocks: "27850" }, 1);
  return `${lines.join("\n")}\n`;
}

export interface VllmServer {
  readonly address: string;
  readonly state: VllmState;
  stop(): Promise<void>;
}

export async function serveVllmPage(): Promise<VllmServer> {
  const state: VllmState = {
    model: "meta-llama/Llama-3.1-8B-Instruct",
    generationTokensPerSecond: 1_500,
    promptTokensPerSecond: 4_000,
    requestsPerSecond: 10,
    running: 32,
    waiting: 0,
    kvCacheUsage: 0.4,
    preemptions: 0,
  };
  const startedMs = performance.now();
  const server = createServer((_, response) => {
    // Pretends to have served for ten minutes at the first request.
    const page = vllmPage(state, 600 + (performance.now() - startedMs) / 1_000);
    response
      .writeHead(200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" })
      .end(page);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    state,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
