/** The GPUs' workloads: jobs and queues of the simulator or a scheduler, and those of the demo application. */
import { gpu, ml } from "../../../src/model/catalogue/index.ts";
import { metricPanel } from "../metric-panel.ts";
import { type Board, rising } from "../shape.ts";
import { ask, hosts, quantile, window } from "./ask.ts";

const at = '{host=~"$host"}';
const jobs = "a source of ml_ metrics: the simulator with its own job queue";
const app = "the demonstration application";

/** The comparison drops series without requests: a quantile of no observations is NaN. */
const inference = (share: number): string =>
  `${quantile(share, "ml_request_duration_seconds_bucket", "host", at)} >= 0 or ${quantile(share, "vllm:e2e_request_latency_seconds_bucket", "model_name")} >= 0`;

export const mlWorkload: Board = {
  uid: "gpulse-ml",
  title: "gpulse: ML workload and queue",
  about: "What waits, what runs, what was done, and what the GPUs made of it.",
  tags: ["ml"],
  source: "prometheus",
  variables: [hosts],
  rows: [
    {
      title: "Queues",
      panels: [
        {
          title: "Queue depth",
          kind: "timeseries",
          unit: "short",
          about:
            "Requests that wait, by queue. Growing while GPUs idle: the workers are the bottleneck, not the GPUs.",
          targets: [ask("sum by (queue) (gateway_queue_depth)", "{{queue}}")],
          range: [0, undefined],
          needs: app,
          width: 8,
        },
        {
          title: "Longest wait in the queue",
          kind: "timeseries",
          unit: "s",
          about: "Age of the oldest entry. Rising steadily: more work comes in than is done.",
          targets: [ask("max by (queue) (gateway_queue_oldest_seconds)", "{{queue}}")],
          range: [0, undefined],
          needs: app,
          width: 8,
        },
        metricPanel(ml.queueDepth, {
          title: "Jobs that wait for a GPU",
          kind: "timeseries",
          targets: [ask(`ml_queue_depth${at}`, "{{host}}")],
          range: [0, undefined],
          needs: jobs,
          width: 8,
        }),
      ],
    },
    {
      title: "Work done",
      panels: [
        {
          title: "Jobs by outcome",
          kind: "timeseries",
          unit: "ops",
          about:
            "Jobs the workers finished. Failed ones: read the workers' log; expired ones waited too long.",
          targets: [
            ask(
              `sum by (queue, outcome) (rate(worker_jobs_total[${window}]))`,
              "{{queue}} {{outcome}}",
            ),
          ],
          range: [0, undefined],
          needs: app,
          width: 8,
        },
        {
          title: "Job duration and wait, p95",
          kind: "timeseries",
          unit: "s",
          about: "Time of a job in the worker, and before it in the queue.",
          targets: [
            ask(quantile(0.95, "worker_job_duration_seconds_bucket", ""), "in the worker"),
            ask(quantile(0.95, "worker_queue_wait_seconds_bucket", ""), "in the queue"),
          ],
          range: [0, undefined],
          needs: app,
          width: 8,
        },
        {
          title: "Jobs in work",
          kind: "timeseries",
          unit: "short",
          about: "Jobs the workers hold now.",
          targets: [ask("sum by (instance) (worker_jobs_active)", "{{instance}}")],
          range: [0, undefined],
          needs: app,
          width: 8,
        },
        metricPanel(ml.jobsRunning, {
          kind: "timeseries",
          targets: [ask(`ml_jobs_running${at}`, "{{host}} {{kind}}")],
          stacked: true,
          range: [0, undefined],
          needs: jobs,
          width: 8,
        }),
        metricPanel(ml.tokens, {
          title: "Tokens per second",
          rate: true,
          kind: "timeseries",
          targets: [ask(`rate(ml_tokens_total${at}[${window}])`, "{{host}} {{kind}}")],
          range: [0, undefined],
          needs: jobs,
          width: 8,
        }),
        metricPanel(ml.requestDuration, {
          title: "Inference requests, p95 and p99",
          todo: "Of jobs on the GPUs, and of vLLM servers.",
          kind: "timeseries",
          targets: [0.95, 0.99].map((share) =>
            ask(inference(share), `{{host}}{{model_name}} p${100 * share}`),
          ),
          range: [0, undefined],
          needs: `${jobs}, or a vLLM server`,
          width: 8,
        }),
      ],
    },
    {
      title: "What the GPUs make of it",
      panels: [
        metricPanel(gpu.utilization, {
          title: "GPU utilisation by host",
          kind: "timeseries",
          targets: [ask(`avg by (host) (gpu_utilization_ratio${at})`, "{{host}}")],
          width: 8,
        }),
        {
          title: "GPUs kept busy by the model server",
          kind: "timeseries",
          unit: "percentunit",
          about:
            "Share of each GPU's time that the simulated model server fills; the simulated GPUs follow it.",
          targets: [ask("ml_gpu_busy_ratio", "GPU {{gpu}}")],
          range: [0, 1],
          needs: app,
          width: 8,
        },
        metricPanel(gpu.utilization, {
          title: "Idle GPUs",
          todo: "Below 5 % over ten minutes: room for batch work.",
          kind: "stat",
          targets: [
            ask(
              `count(avg_over_time(gpu_utilization_ratio${at}[10m]) < 0.05) or 0 * count(gpu_utilization_ratio${at})`,
              "idle",
            ),
          ],
          steps: rising(1, 4),
          range: [0, undefined],
          width: 4,
        }),
        {
          title: "Idle alerts turned into work",
          kind: "stat",
          unit: "short",
          about: "Alerts of idle GPUs that the gateway took and queued batch work for.",
          targets: [ask("sum(gateway_idle_alerts_total)", "alerts")],
          needs: app,
          width: 4,
        },
        {
          title: "Training loss",
          kind: "timeseries",
          unit: "short",
          about: "Of the background training. Flat or rising: stop it and look.",
          targets: [ask("ml_training_loss", "{{instance}}")],
          needs: app,
          width: 8,
        },
        {
          title: "Training steps per second",
          kind: "timeseries",
          unit: "ops",
          about: "Of the background training that fills idle GPUs.",
          targets: [ask(`sum(rate(ml_training_steps_total[${window}]))`, "steps")],
          range: [0, undefined],
          needs: app,
          width: 8,
        },
        metricPanel(gpu.ownerInfo, {
          title: "Who uses which GPU",
          kind: "table",
          targets: [ask(`topk(100, gpu_owner_info${at})`, "present")],
          leadsTo: { uid: "gpulse-gpu", labels: ["host", "gpu"] },
          needs: "processes, pods or simulated jobs on the GPUs",
          width: 8,
        }),
        metricPanel(ml.tokens, {
          title: "Tokens per joule by host",
          todo: "Tokens per second over the watts of the host's GPUs, which is performance per watt: higher is better.",
          kind: "timeseries",
          targets: [
            ask(
              `sum by (host) (rate(ml_tokens_total${at}[${window}])) / (sum by (host) (max by (host, uuid) (gpu_power_watts${at})) > 0)`,
              "{{host}}",
            ),
          ],
          range: [0, undefined],
          decimals: 3,
          needs: jobs,
          width: 12,
        }),
        metricPanel(gpu.power, {
          title: "Energy a token",
          todo: "All power over all tokens, those of jobs or else those that vLLM generated: what an answer costs.",
          kind: "timeseries",
          targets: [
            ask(
              `sum(max by (host, uuid) (gpu_power_watts${at})) / (sum(rate(ml_tokens_total${at}[${window}])) > 0 or sum(rate(vllm:generation_tokens_total[${window}])) > 0)`,
              "per token",
              "joule",
            ),
          ],
          range: [0, undefined],
          needs: `${jobs}, or a vLLM server`,
          width: 12,
        }),
      ],
    },
  ],
};
