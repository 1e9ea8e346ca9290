/** A vLLM server beside its GPUs: tokens, waiting, cache, and energy per token. */
import { gpu } from "../../../src/model/catalogue/index.ts";
import { metricPanel } from "../metric-panel.ts";
import { type Board, type Panel, rising } from "../shape.ts";
import { ask, gpus, hosts, all, quantile, some, window } from "./ask.ts";

const at = '{model_name=~"$model_name"}';
const rate = (metric: string): string => `sum by (model_name) (rate(${metric}${at}[${window}]))`;
const power = 'sum(max by (host, uuid) (gpu_power_watts{host=~"$host",gpu=~"$gpu"}))';
const needs = "a vLLM server that is scraped";

const graph = (panel: Omit<Panel, "kind" | "width"> & Partial<Panel>): Panel => ({
  kind: "timeseries",
  range: [0, undefined],
  width: 8,
  needs,
  ...panel,
});

/** p50, p95 and p99 of a histogram. */
const spread = (bucket: string) =>
  [0.5, 0.95, 0.99].map((share) =>
    ask(quantile(share, bucket, "model_name", at), `{{model_name}} p${100 * share}`),
  );

/** The newer of two names of a metric, if a server has it. */
const either = (share: number, newer: string, older: string): string =>
  `histogram_quantile(${share}, sum by (le, model_name) (rate(${newer}${at}[${window}]) or rate(${older}${at}[${window}])))`;

export const vllm: Board = {
  uid: "gpulse-vllm",
  title: "gpulse: vLLM",
  about:
    "What a vLLM server does with the GPUs chosen above: choose those it runs on, for the energy to be its own.",
  tags: ["ml", "vllm"],
  source: "prometheus",
  variables: [
    all("model_name", "Model", "label_values(vllm:num_requests_running, model_name)", needs),
    some(hosts),
    gpus,
  ],
  rows: [
    {
      title: "Tokens and energy",
      panels: [
        graph({
          title: "Tokens per second",
          unit: "cps",
          about: "Read in prompts, and generated.",
          targets: [
            ask(rate("vllm:prompt_tokens_total"), "{{model_name}} prompt"),
            ask(rate("vllm:generation_tokens_total"), "{{model_name}} generated"),
          ],
        }),
        graph({
          title: "Tokens per joule",
          unit: "short",
          decimals: 2,
          about:
            "Generated tokens over the energy of the chosen GPUs. Higher is cheaper; larger batches raise it.",
          targets: [
            ask(
              `sum(rate(vllm:generation_tokens_total${at}[${window}])) / ${power}`,
              "tokens per joule",
            ),
          ],
        }),
        metricPanel(gpu.power, {
          title: "Power of the chosen GPUs",
          kind: "timeseries",
          targets: [ask(power, "all chosen")],
          range: [0, undefined],
          width: 8,
        }),
      ],
    },
    {
      title: "Latency",
      panels: [
        graph({
          title: "Time to first token",
          unit: "s",
          about:
            "Waiting and reading the prompt. Rising with the queue: too many requests; without it: long prompts.",
          targets: spread("vllm:time_to_first_token_seconds_bucket"),
        }),
        graph({
          title: "Time between tokens",
          unit: "s",
          about: "How fast text appears. Rising with the batch is the price of more tokens in all.",
          targets: [0.5, 0.95, 0.99].map((share) =>
            ask(
              either(
                share,
                "vllm:inter_token_latency_seconds_bucket",
                "vllm:time_per_output_token_seconds_bucket",
              ),
              `{{model_name}} p${100 * share}`,
            ),
          ),
        }),
        graph({
          title: "Whole request",
          unit: "s",
          about: "From arrival to the last token.",
          targets: spread("vllm:e2e_request_latency_seconds_bucket"),
        }),
      ],
    },
    {
      title: "Queue and cache",
      panels: [
        graph({
          title: "Requests running and waiting",
          unit: "short",
          about: "Waiting for long: another replica, or shorter answers.",
          targets: [
            ask(`sum by (model_name) (vllm:num_requests_running${at})`, "{{model_name}} running"),
            ask(`sum by (model_name) (vllm:num_requests_waiting${at})`, "{{model_name}} waiting"),
          ],
        }),
        graph({
          title: "Time in the queue, p95",
          unit: "s",
          about: "Before anything is computed.",
          targets: [
            ask(
              quantile(0.95, "vllm:request_queue_time_seconds_bucket", "model_name", at),
              "{{model_name}}",
            ),
          ],
        }),
        graph({
          title: "KV cache in use",
          unit: "percentunit",
          about:
            "Full: requests are preempted and computed again. More memory for it, shorter contexts, or fewer at a time.",
          targets: [
            ask(
              `max by (model_name) (vllm:kv_cache_usage_perc${at} or vllm:gpu_cache_usage_perc${at})`,
              "{{model_name}}",
            ),
          ],
          range: [0, 1],
          steps: rising(0.9, 0.98),
        }),
        graph({
          title: "Prefix cache hit ratio",
          unit: "percentunit",
          about: "Prompt tokens that were there already.",
          targets: [
            ask(
              `${rate("vllm:prefix_cache_hits_total")} / ${rate("vllm:prefix_cache_queries_total")}`,
              "{{model_name}}",
            ),
          ],
          range: [0, 1],
        }),
        graph({
          title: "Preemptions per second",
          unit: "cps",
          about: "Requests thrown out of a full cache and begun again: work done twice.",
          targets: [ask(rate("vllm:num_preemptions_total"), "{{model_name}}")],
        }),
        graph({
          title: "Finished requests by reason",
          unit: "reqps",
          about: "length: cut off at the limit; abort: the caller went away.",
          targets: [
            ask(
              `sum by (model_name, finished_reason) (rate(vllm:request_success_total${at}[${window}]))`,
              "{{model_name}} {{finished_reason}}",
            ),
          ],
        }),
      ],
    },
    {
      title: "The GPUs under it",
      panels: [
        metricPanel(gpu.utilization, {
          kind: "timeseries",
          targets: [
            ask('gpu_utilization_ratio{host=~"$host",gpu=~"$gpu"}', "{{host}} GPU {{gpu}}"),
          ],
          width: 12,
        }),
        metricPanel(gpu.memoryUsedRatio, {
          kind: "timeseries",
          todo: "vLLM takes what it may at the start: see the KV cache for what is really in use.",
          targets: [
            ask('gpu_memory_used_ratio{host=~"$host",gpu=~"$gpu"}', "{{host}} GPU {{gpu}}"),
          ],
          width: 12,
        }),
      ],
    },
  ],
};
