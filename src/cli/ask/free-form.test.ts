// Questions in free word order, as people type them: the tool they run, and those that must not be taken for another question.

import * as v from "valibot";
import { expect, test } from "vitest";
import { parse } from "../../query/parse/parse.ts";
import { findTool } from "../../view/tools/list.ts";
import { matchQuestion } from "./grammar.ts";

const idle = { sort: "utilization", order: "lowest", window: "15m", limit: 20 };

test.for([
  [
    "what's the hottest gpu in the cluster",
    "current_state",
    { sort: "temperature", order: "highest", limit: 1 },
  ],
  ["how hot are my gpus", "current_state", { sort: "temperature", limit: 20 }],
  ["which gpu uses the most power", "current_state", { sort: "power", order: "highest", limit: 1 }],
  ["top 5 gpus by power", "current_state", { sort: "power", order: "highest", limit: 5 }],
  [
    "power limit of gpu-node-1",
    "current_state",
    { host: "gpu-node-1", sort: "power_limit", limit: 20 },
  ],
  ["which gpus are out of memory", "current_state", { sort: "memory", limit: 20 }],
  ["what is the power draw of gpu 2", "current_state", { gpu: "2", sort: "power", limit: 20 }],
  ["is anyone using node-2", "current_state", { host: "node-2", limit: 100 }],
  ["unused H100s", "current_state", { model: "H100", ...idle }],
  ["gpus on node-1", "current_state", { host: "node-1", limit: 20 }],
  ["show gpu 0", "current_state", { gpu: "0", limit: 20 }],
  ["GPU-1f2e3d4c", "current_state", { gpu: "GPU-1f2e3d4c", limit: 20 }],
  ["how much power is the cluster using", "query_promql", { promql: "sum(gpu_power_watts)" }],
  [
    "average gpu utilization last week",
    "query_promql",
    { promql: "avg(gpu_utilization_ratio) * 100", since: "7d" },
  ],
  [
    "average temperature",
    "query_promql",
    { promql: "avg(max by (uuid, gpu, host) (gpu_temperature_celsius))" },
  ],
  ["total memory used", "query_promql", { promql: "sum(gpu_memory_used_bytes) / 2^30" }],
  ["power per host", "query_promql", { promql: "sum by (host) (gpu_power_watts)" }],
  [
    "max power today",
    "query_promql",
    { promql: "topk(1, max by (uuid, gpu, host) (max_over_time(gpu_power_watts[1d])))" },
  ],
  [
    "how many gpus are idle",
    "query_promql",
    { promql: "count(avg_over_time(gpu_utilization_ratio[15m]) < 0.05) or vector(0)" },
  ],
  [
    "how many gpus are in use on n1",
    "query_promql",
    { promql: 'count(avg_over_time(gpu_utilization_ratio{host="n1"}[15m]) >= 0.05) or vector(0)' },
  ],
  [
    "where can I run a job",
    "query_promql",
    { promql: "sum by (host) (avg_over_time(gpu_utilization_ratio[15m]) < bool 0.05) > 0" },
  ],
  [
    "which nodes have free gpus",
    "query_promql",
    { promql: "sum by (host) (avg_over_time(gpu_utilization_ratio[15m]) < bool 0.05) > 0" },
  ],
  [
    "which gpus are power capped",
    "query_promql",
    { promql: 'gpu_throttle_active{reason=~"power.*"} == 1' },
  ],
  [
    "which gpus were throttled yesterday",
    "query_promql",
    { promql: "max_over_time(gpu_throttle_active[2d]) == 1" },
  ],
  ["memory of user alice", "current_state", { owner: "alice", sort: "memory", limit: 20 }],
  ["is nvlink ok", "query_promql", { promql: "increase(gpu_interconnect_errors_total[1d]) > 0" }],
  [
    "how much energy did gpu-node-1 use today",
    "query_promql",
    { promql: 'sum(increase(gpu_energy_joules_total{host="gpu-node-1"}[1d])) / 3.6e6' },
  ],
  ["fan speed of node-1", "query_promql", { promql: 'gpu_fan_speed_ratio{host="node-1"} * 100' }],
  ["which driver version is installed", "query_promql", { promql: "count by (driver) (gpu_info)" }],
  ["how many H200 do we have", "find", { kind: "gpu", match: "H200" }],
  ["how many gpus per host", "find", { kind: "host" }],
  ["is everything ok", "gpu_health", {}],
  ["what's wrong?", "gpu_health", {}],
  ["can gpu-node-3 take jobs", "gpu_health", { host: "gpu-node-3" }],
  ["should I drain gpu-node-3", "gpu_health", { host: "gpu-node-3" }],
  ["did any gpu fail today", "list_events", { from: "1d" }],
  ["what alerts fired today", "list_events", { kind: "alert", from: "1d" }],
  ["why did GpuHot fire", "list_alerts", { alert: "GpuHot" }],
  ["why is alert 1a2b3c4d5e6f7a8b firing", "explain", { alert: "1a2b3c4d5e6f7a8b" }],
  ["what's slowing down job 4711", "explain", { job: "4711" }],
  ["what does xid 79 mean", "runbook", { alert: "Xid 79" }],
  ["when did job 4711 start", "show_job", { id: "4711" }],
  ["what ran on node-3 yesterday", "list_jobs", { state: "all", host: "node-3", from: "2d" }],
  ["which users are idle", "bill_jobs", { by: "user" }],
  ["how much did alice use last week", "bill_jobs", { by: "user", from: "7d" }],
  ["cost of project llm last month", "bill_jobs", { by: "project", from: "30d" }],
  [
    "compare node-1 today with yesterday",
    "compare",
    { hosts: ["node-1", "node-1@-24h"], from: "24h" },
  ],
  ["compare gpu 0 and gpu 1", "compare", { gpus: ["0", "1"] }],
] as const)("%s runs %s", ([question, tool, input]) => {
  const { unit: _, ...matched } = matchQuestion(question) ?? {};
  expect(matched).toEqual({ tool, input });
  const checked = v.safeParse(findTool(tool)?.input ?? v.never(), input);
  expect(checked.issues?.map(({ message }) => message)).toBeUndefined();
});

test("every query of a question is valid PromQL", () => {
  for (const question of [
    "peak clock of gpu 1 last week",
    "utilization by host",
    "errors on n1",
    "memory of n1 over the last day",
    "encoder load",
    "pcie bandwidth",
    "models",
  ]) {
    const matched = matchQuestion(question);
    expect([question, matched?.tool]).toEqual([question, "query_promql"]);
    expect(() => parse(String(matched?.input["promql"]))).not.toThrow();
  }
});

test.for([
  ["power per host", "W"],
  ["total memory used", "GiB"],
  ["energy of gpu-node-3 last week", "kWh"],
  ["how many gpus are idle", "GPUs"],
] as const)("the values of %s are in %s", ([question, unit]) =>
  expect(matchQuestion(question)?.unit).toBe(unit),
);

test.for([
  "which gpus are not idle",
  "stop job 4711",
  "set the power limit of gpu 0 to 300",
  "drop all alerts",
  "why is training slow",
  "memory usage by user",
  "how do I use less power",
  "which jobs failed",
  "is the earth flat",
  "cheapest user",
  "average power of H100s",
  "why was node-1 slow last week",
  "temperature by user",
  "what does GPU stand for",
])("%j is not understood", (question) => expect(matchQuestion(question)).toBeUndefined());
