/** LLM servers of any kind with one name per quantity, as recorded by rules/stack/serving.yml, beside their GPUs. */
import { gpu } from "../../../src/model/catalogue/index.ts";
import { metricPanel } from "../metric-panel.ts";
import { type Board, falling, type Panel, rising } from "../shape.ts";
import { all, ask, gpuName, gpus, hosts, some } from "./ask.ts";

const at = '{job=~"$job",instance=~"$instance"}';
const onGpus = '{host=~"$host",gpu=~"$gpu"}';
const power = `sum(max by (host, uuid) (gpu_power_watts${onGpus}))`;
const needs = "an LLM server that is scraped, and the rules of rules/stack/serving.yml";
const generated = `instance:serving_generated_tokens:rate1m${at}`;
const prompt = `instance:serving_prompt_tokens:rate1m${at}`;

const graph = (panel: Omit<Panel, "kind" | "width"> & Partial<Panel>): Panel => ({
  kind: "timeseries",
  range: [0, undefined],
  width: 8,
  needs,
  ...panel,
});

export const serving: Board = {
  uid: "gpulse-serving",
  title: "gpulse: LLM serving",
  about:
    "vLLM, SGLang, TensorRT-LLM, Triton, llama.cpp and TGI side by side. Choose the GPUs the servers run on, for the energy to be theirs.",
  tags: ["ml", "serving"],
  source: "prometheus",
  variables: [
    all("job", "Job", "label_values(instance:serving_generated_tokens:rate1m, job)", needs),
    all(
      "instance",
      "Server",
      'label_values(instance:serving_generated_tokens:rate1m{job=~"$job"}, instance)',
      needs,
    ),
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
          targets: [ask(prompt, "{{instance}} prompt"), ask(generated, "{{instance}} generated")],
        }),
        graph({
          title: "Generated tokens per joule",
          unit: "short",
          decimals: 2,
          about: "All chosen servers over the power of the chosen GPUs. Larger batches raise it.",
          targets: [ask(`sum(${generated}) / (${power} > 0)`, "tokens per joule")],
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
      title: "Latency and SLO",
      panels: [
        graph({
          title: "Time to first token, p95",
          unit: "s",
          about:
            "Waiting and reading the prompt. Rising with the queue: too many requests; without it: long prompts.",
          targets: [ask(`instance:serving_first_token_seconds:p95_5m${at}`, "{{instance}}")],
        }),
        graph({
          title: "Time between tokens, p95",
          unit: "s",
          about: "How fast text appears. One server above the others: look at its GPUs.",
          targets: [ask(`instance:serving_inter_token_seconds:p95_5m${at}`, "{{instance}}")],
        }),
        graph({
          title: "First tokens within a second",
          unit: "percentunit",
          about: "The SLO of the shipped alerts is 95 %.",
          targets: [ask(`instance:serving_first_token_in_time:ratio5m${at}`, "{{instance}}")],
          range: [0, 1],
          steps: falling(0.9, 0.95),
        }),
      ],
    },
    {
      title: "Queue and cache",
      panels: [
        graph({
          title: "Requests running and waiting",
          unit: "short",
          about: "Waiting for long: add a replica, or limit the length of answers.",
          targets: [
            ask(`instance:serving_requests_running:sum${at}`, "{{instance}} running"),
            ask(`instance:serving_requests_waiting:sum${at}`, "{{instance}} waiting"),
          ],
          width: 12,
        }),
        graph({
          title: "KV cache in use",
          unit: "percentunit",
          about:
            "Full: requests wait or are computed again. Give it more memory, or shorten contexts.",
          targets: [ask(`instance:serving_kv_cache_usage_ratio:max${at}`, "{{instance}}")],
          range: [0, 1],
          steps: rising(0.9, 0.98),
          width: 12,
        }),
      ],
    },
    {
      title: "The GPUs under it",
      panels: [
        metricPanel(gpu.utilization, {
          kind: "timeseries",
          targets: [ask(`gpu_utilization_ratio${onGpus}`, gpuName)],
          width: 12,
        }),
        metricPanel(gpu.memoryUsedRatio, {
          kind: "timeseries",
          targets: [ask(`gpu_memory_used_ratio${onGpus}`, gpuName)],
          width: 12,
        }),
      ],
    },
  ],
};
