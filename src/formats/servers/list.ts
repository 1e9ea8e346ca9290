/** The LLM servers that gpulse recognizes by their metric names. To add one, write its table and add it to the list. */
import {
  latencySignals,
  named,
  type ServerMetric,
  type ServerSignal,
  type ServerTable,
  type ServerWithoutMetrics,
} from "./table.ts";

/** The v1 engine; until 0.9 the cache metric's name contained "gpu", until 0.10 the inter-token latency was "per output token". */
const vllm: ServerTable = {
  name: "vllm",
  program: "vLLM",
  role: "engine",
  signals: {
    promptTokens: named("vllm:prompt_tokens_total"),
    generatedTokens: named("vllm:generation_tokens_total"),
    requests: named("vllm:request_success_total"),
    preemptions: named("vllm:num_preemptions_total"),
    running: named("vllm:num_requests_running"),
    waiting: named("vllm:num_requests_waiting"),
    kvCacheRatio: named("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"),
    timeToFirstToken: named("vllm:time_to_first_token_seconds"),
    interToken: named("vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds"),
    requestDuration: named("vllm:e2e_request_latency_seconds"),
  },
  partLabels: ["engine"],
  missing: { failedRequests: "vLLM counts finished requests only." },
  setup: "on by default, at /metrics of the API port",
};

/** Every scheduler exposes the gauges, one per rank of tensor and pipeline parallelism: they are copies of one queue. */
const sglang: ServerTable = {
  name: "sglang",
  program: "SGLang",
  role: "engine",
  signals: {
    promptTokens: named("sglang:prompt_tokens_total"),
    generatedTokens: named("sglang:generation_tokens_total"),
    requests: named("sglang:num_requests_total"),
    failedRequests: named("sglang:num_aborted_requests_total"),
    // Not num_retracted_reqs, which is a gauge of the last batch.
    preemptions: named("sglang:num_retracted_requests_total"),
    running: named("sglang:num_running_reqs"),
    waiting: named("sglang:num_queue_reqs"),
    kvCacheRatio: named("sglang:token_usage"),
    timeToFirstToken: named("sglang:time_to_first_token_seconds"),
    interToken: named("sglang:inter_token_latency_seconds", "sglang:time_per_output_token_seconds"),
    requestDuration: named("sglang:e2e_request_latency_seconds"),
  },
  partLabels: ["dp_rank"],
  missing: {},
  setup: "--enable-metrics, at /metrics of the API port",
};

const tensorrtLlm: ServerTable = {
  name: "tensorrt-llm",
  program: "TensorRT-LLM",
  role: "engine",
  signals: {
    promptTokens: named("trtllm_prompt_tokens_total"),
    generatedTokens: named("trtllm_generation_tokens_total"),
    requests: named("trtllm_request_success_total"),
    failedRequests: named("trtllm_request_error_total"),
    running: named("trtllm_num_requests_running"),
    waiting: named("trtllm_num_requests_waiting"),
    kvCacheRatio: named("trtllm_kv_cache_utilization"),
    timeToFirstToken: named("trtllm_time_to_first_token_seconds"),
    interToken: named("trtllm_time_per_output_token_seconds"),
    requestDuration: named("trtllm_e2e_request_latency_seconds"),
  },
  partLabels: [],
  missing: { preemptions: "TensorRT-LLM reports how many requests are paused, not how often." },
  countsAtEnd: true,
  setup:
    "return_perf_metrics: true (queue and cache also enable_iter_perf_stats), at /prometheus/metrics",
};

const inTriton = (name: string, label: string, value: string): ServerMetric => ({
  name,
  when: { [label]: value },
});

const triton: ServerTable = {
  name: "triton",
  program: "Triton with TensorRT-LLM",
  role: "engine",
  signals: {
    requests: named("nv_inference_request_success"),
    failedRequests: named("nv_inference_request_failure"),
    running: [inTriton("nv_trt_llm_request_metrics", "request_type", "scheduled")],
    waiting: [inTriton("nv_trt_llm_request_metrics", "request_type", "waiting")],
    kvCacheRatio: [
      inTriton("nv_trt_llm_kv_cache_block_metrics", "kv_cache_block_type", "fraction"),
    ],
  },
  partLabels: [],
  missing: {
    promptTokens: "Triton's TensorRT-LLM backend counts no tokens.",
    generatedTokens: "Triton's TensorRT-LLM backend counts no tokens.",
    preemptions: "Triton's TensorRT-LLM backend does not count them.",
    timeToFirstToken: "Triton times the first response, which need not be the first token.",
    interToken: "Triton does not time tokens.",
    requestDuration: "Triton reports sums of durations without a histogram.",
  },
  setup: "on by default, at port 8002",
};

/** Its workers are engines and expose their own engine's names. */
const dynamo: ServerTable = {
  name: "dynamo",
  program: "NVIDIA Dynamo",
  role: "router",
  signals: {
    promptTokens: named("dynamo_frontend_input_sequence_tokens_sum"),
    generatedTokens: named(
      "dynamo_frontend_output_tokens_total",
      "dynamo_frontend_output_sequence_tokens_sum",
    ),
    requests: [{ name: "dynamo_frontend_requests_total", unless: { status: "error" } }],
    failedRequests: [{ name: "dynamo_frontend_requests_total", when: { status: "error" } }],
    running: named("dynamo_frontend_inflight_requests"),
    waiting: named("dynamo_frontend_queued_requests"),
    timeToFirstToken: named("dynamo_frontend_time_to_first_token_seconds"),
    interToken: named("dynamo_frontend_inter_token_latency_seconds"),
    requestDuration: named("dynamo_frontend_request_duration_seconds"),
  },
  partLabels: [],
  missing: {
    kvCacheRatio: "It is in the workers: scrape them too.",
    preemptions: "They happen in the workers: scrape them too.",
  },
  setup: "on by default, at /metrics of the frontend; scrape the workers too",
};

/** The endpoint picker of llm-d and of the Gateway API inference extension; the engines behind it expose their own names. */
const llmd: ServerTable = {
  name: "llm-d",
  program: "llm-d",
  role: "router",
  signals: {
    promptTokens: named(
      "llm_d_epp_request_input_tokens_sum",
      "inference_objective_input_tokens_sum",
    ),
    generatedTokens: named(
      "llm_d_epp_request_output_tokens_sum",
      "inference_objective_output_tokens_sum",
    ),
    requests: named("llm_d_epp_request_total", "inference_objective_request_total"),
    failedRequests: named(
      "llm_d_epp_request_error_total",
      "inference_objective_request_error_total",
    ),
    running: named("llm_d_epp_request_running", "inference_objective_running_requests"),
    timeToFirstToken: named(
      "llm_d_epp_request_ttft_seconds",
      "inference_objective_request_ttft_seconds",
    ),
    interToken: named(
      "llm_d_epp_request_streaming_itl_seconds",
      "llm_d_epp_request_streaming_tpot_seconds",
      "inference_objective_request_tpot_seconds",
    ),
    requestDuration: named(
      "llm_d_epp_request_duration_seconds",
      "inference_objective_request_duration_seconds",
    ),
  },
  partLabels: [],
  missing: {
    waiting: "It is in the model servers: scrape them too.",
    kvCacheRatio: "It is in the model servers: scrape them too.",
    preemptions: "They happen in the model servers: scrape them too.",
  },
  countsAtEnd: true,
  setup: "on by default, at port 9090 of the endpoint picker; scrape the model servers too",
};

const llamaCpp: ServerTable = {
  name: "llama.cpp",
  program: "llama.cpp",
  role: "engine",
  signals: {
    promptTokens: named("llamacpp:prompt_tokens_total"),
    generatedTokens: named("llamacpp:tokens_predicted_total"),
    running: named("llamacpp:requests_processing"),
    waiting: named("llamacpp:requests_deferred"),
    // Only versions before 2025 have this metric.
    kvCacheRatio: named("llamacpp:kv_cache_usage_ratio"),
  },
  partLabels: [],
  missing: {
    requests: "llama.cpp's server does not count requests.",
    failedRequests: "llama.cpp's server does not count requests.",
    kvCacheRatio: "This version of llama.cpp's server does not expose it.",
    preemptions: "llama.cpp's server does not preempt.",
    timeToFirstToken: "llama.cpp's server exposes no latencies.",
    interToken: "llama.cpp's server exposes no latencies.",
    requestDuration: "llama.cpp's server exposes no latencies.",
  },
  countsAtEnd: true,
  setup: "--metrics, at /metrics of the API port",
};

const tgi: ServerTable = {
  name: "tgi",
  program: "Text Generation Inference",
  role: "engine",
  signals: {
    promptTokens: named("tgi_request_input_length_sum"),
    generatedTokens: named("tgi_request_generated_tokens_sum"),
    requests: named("tgi_request_success"),
    failedRequests: named("tgi_request_failure"),
    running: named("tgi_batch_current_size"),
    waiting: named("tgi_queue_size"),
    requestDuration: named("tgi_request_duration"),
  },
  partLabels: [],
  missing: {
    kvCacheRatio: "TGI does not expose it.",
    preemptions: "TGI does not preempt.",
    timeToFirstToken: "TGI does not time the first token.",
    interToken: "TGI's time per token includes the prompt's.",
  },
  countsAtEnd: true,
  setup: "on by default, at /metrics of the API port",
};

export const serverTables: readonly ServerTable[] = [
  vllm,
  sglang,
  tensorrtLlm,
  triton,
  dynamo,
  llmd,
  llamaCpp,
  tgi,
];

export const serversWithoutMetrics: readonly ServerWithoutMetrics[] = [
  {
    program: "Ollama",
    reason:
      "Ollama exposes no metrics; it reports counts only in each response. Its GPUs are on the GPU page. llama.cpp's server runs the same models and has metrics.",
  },
];

/** The suffix of a series' name after the signal's: `_bucket` for latencies. */
const suffixOf = (signal: ServerSignal): "" | "_bucket" =>
  (latencySignals as readonly string[]).includes(signal) ? "_bucket" : "";

export interface ServerSeriesName {
  readonly table: ServerTable;
  readonly signal: ServerSignal;
  readonly metric: ServerMetric;
  /** Index in the signal's names: the lowest one that a target exposes is read. */
  readonly rank: number;
}

/** Keyed by the stored name of the series; one name may be several signals, distinguished by labels. */
export const serverSeriesNames: ReadonlyMap<string, readonly ServerSeriesName[]> = (() => {
  const names = new Map<string, ServerSeriesName[]>();
  for (const table of serverTables)
    for (const [key, metrics] of Object.entries(table.signals)) {
      const signal = key as ServerSignal;
      metrics.forEach((metric, rank) => {
        const name = `${metric.name}${suffixOf(signal)}`;
        names.set(name, [...(names.get(name) ?? []), { table, signal, metric, rank }]);
      });
    }
  return names;
})();
