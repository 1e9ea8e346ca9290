// A vLLM server's metrics with its names, labels and buckets (v1 engine), counted from the requests of this server. Each GPU is
// one engine of a data-parallel server, so the `engine` label is the GPU's index.

import { Counter, Gauge, Histogram, type Registry } from "prom-client";

import type { Engine, Watcher } from "./engine.ts";
import { BLOCK_TOKENS } from "./prefix-cache.ts";
import type { Sequence } from "./sequence.ts";

const LABELS = ["model_name", "engine"] as const;
const REASONS = ["stop", "length", "abort", "error"] as const;
const LATENCY = [
  0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680,
];
const FIRST_TOKEN = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80,
  160, 640, 2560,
];
const BETWEEN_TOKENS = [
  0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80,
];
const STEP_TOKENS = [1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384];

/** 1, 2, 5, 10, 20, … up to the maximum length of a request. */
export function oneTwoFive(most: number): number[] {
  const bounds: number[] = [];
  for (let power = 1; ; power *= 10) {
    for (const mantissa of [1, 2, 5]) {
      if (mantissa * power > most) return bounds;
      bounds.push(mantissa * power);
    }
  }
}

export interface VllmSettings {
  readonly modelName: string;
  readonly maxModelTokens: number;
  readonly kvTokens: number;
  readonly gpus: number;
}

export function watchAsVllm(registry: Registry, settings: VllmSettings): Watcher {
  const { modelName, maxModelTokens } = settings;
  const registers = [registry];
  // As in vLLM, every series starts at 0, so that a rate over the first request is right.
  const engines = Array.from({ length: settings.gpus }, (_, index) => index);
  const of = (engine: number) => ({ model_name: modelName, engine: `${engine}` });
  const counter = (name: string, help: string) => {
    const made = new Counter({ name: `vllm:${name}_total`, help, labelNames: LABELS, registers });
    for (const engine of engines) made.inc(of(engine), 0);
    return (engine: number, value: number) => made.inc(of(engine), value);
  };
  const histogram = (name: string, help: string, buckets: number[]) => {
    const how = { name: `vllm:${name}`, help, labelNames: LABELS, buckets, registers };
    const made = new Histogram(how);
    for (const engine of engines) made.zero(of(engine));
    return (engine: number, value: number) => made.observe(of(engine), value);
  };
  const sizes = oneTwoFive(maxModelTokens);

  const promptTokens = counter("prompt_tokens", "Number of prefill tokens processed.");
  const generationTokens = counter("generation_tokens", "Number of generation tokens processed.");
  const preemptions = counter("num_preemptions", "Cumulative number of preemptions.");
  const queries = counter("prefix_cache_queries", "Prefix cache queries, in tokens queried.");
  const hits = counter("prefix_cache_hits", "Prefix cache hits, in tokens found.");
  const success = new Counter({
    name: "vllm:request_success_total",
    help: "Count of requests that ended, by how.",
    labelNames: [...LABELS, "finished_reason"],
    registers,
  });
  for (const engine of engines) {
    for (const finished_reason of REASONS) success.inc({ ...of(engine), finished_reason }, 0);
  }
  const firstToken = histogram("time_to_first_token_seconds", "Time to first token.", FIRST_TOKEN);
  const between = [
    histogram("inter_token_latency_seconds", "Time between two tokens.", BETWEEN_TOKENS),
    histogram("time_per_output_token_seconds", "The older name of the same.", BETWEEN_TOKENS),
  ];
  const perToken = histogram(
    "request_time_per_output_token_seconds",
    "A request's mean time per output token.",
    BETWEEN_TOKENS,
  );
  const wholeTime = histogram("e2e_request_latency_seconds", "A request's whole time.", LATENCY);
  const queued = histogram("request_queue_time_seconds", "Time in WAITING.", LATENCY);
  const inference = histogram("request_inference_time_seconds", "Time in RUNNING.", LATENCY);
  const prefill = histogram("request_prefill_time_seconds", "Time in PREFILL.", LATENCY);
  const decode = histogram("request_decode_time_seconds", "Time in DECODE.", LATENCY);
  const requestPrompt = histogram("request_prompt_tokens", "Prompt tokens of a request.", sizes);
  const requestOutput = histogram("request_generation_tokens", "Tokens of an answer.", sizes);
  const requestMost = histogram("request_params_max_tokens", "max_tokens of a request.", sizes);
  const requestN = histogram("request_params_n", "n of a request.", [1, 2, 5, 10, 20]);
  const perStep = histogram("iteration_tokens_total", "Tokens per engine step.", STEP_TOKENS);

  return {
    scheduled: (engine, sequence) => {
      queries(engine, sequence.promptTokens);
      hits(engine, sequence.cachedTokens);
    },
    firstToken: (engine, sequence) => {
      promptTokens(engine, sequence.promptTokens);
      firstToken(engine, seconds(sequence.arrivedMs, sequence.firstTokenMs));
    },
    nextToken: (engine, value) => {
      for (const observe of between) observe(engine, value);
    },
    step: (engine, prompt, generated) => {
      generationTokens(engine, generated);
      perStep(engine, prompt + generated);
    },
    preempted: (engine) => preemptions(engine, 1),
    finished: (engine, sequence, reason) => {
      success.inc({ ...of(engine), finished_reason: reason });
      if (reason !== "abort") finishedTimes(engine, sequence);
    },
  };

  function finishedTimes(engine: number, sequence: Sequence): void {
    const { arrivedMs, scheduledMs, firstTokenMs, finishedMs } = sequence;
    const decodeSeconds = seconds(firstTokenMs, finishedMs);
    wholeTime(engine, seconds(arrivedMs, finishedMs));
    queued(engine, seconds(arrivedMs, scheduledMs));
    inference(engine, seconds(scheduledMs, finishedMs));
    prefill(engine, seconds(scheduledMs, firstTokenMs));
    decode(engine, decodeSeconds);
    if (sequence.generated > 1) perToken(engine, decodeSeconds / (sequence.generated - 1));
    requestPrompt(engine, sequence.promptTokens);
    requestOutput(engine, sequence.generated);
    requestMost(engine, sequence.maxTokens);
    requestN(engine, 1);
  }
}

/** Gauges that are read at each scrape. */
export function tellEngines(
  registry: Registry,
  settings: VllmSettings,
  engines: readonly Engine[],
): void {
  const { modelName, kvTokens } = settings;
  const gauge = (name: string, help: string, read: (engine: Engine) => number): void => {
    const made: Gauge = new Gauge({
      name: `vllm:${name}`,
      help,
      labelNames: LABELS,
      registers: [registry],
      collect: () => {
        for (const engine of engines)
          made.set({ model_name: modelName, engine: `${engine.index}` }, read(engine));
      },
    });
  };
  gauge("num_requests_running", "Requests in model execution batches.", ({ running }) => running);
  gauge("num_requests_waiting", "Requests waiting to be processed.", ({ waiting }) => waiting);
  gauge("kv_cache_usage_perc", "KV-cache usage; 1 is all of it.", ({ kvUsage }) => kvUsage);
  gauge("gpu_cache_usage_perc", "The older name of the same.", ({ kvUsage }) => kvUsage);
  const cache = new Gauge({
    name: "vllm:cache_config_info",
    help: "Information of the LLMEngine CacheConfig",
    labelNames: ["engine", "block_size", "num_gpu_blocks", "enable_prefix_caching", "cache_dtype"],
    registers: [registry],
  });
  for (const { index } of engines) {
    const info = {
      engine: `${index}`,
      block_size: `${BLOCK_TOKENS}`,
      num_gpu_blocks: `${Math.floor(kvTokens / BLOCK_TOKENS)}`,
      enable_prefix_caching: "True",
      cache_dtype: "auto",
    };
    cache.set(info, 1);
  }
}

function seconds(fromMs: number | undefined, toMs: number | undefined): number {
  return fromMs === undefined || toMs === undefined ? 0 : Math.max(0, toMs - fromMs) / 1000;
}
