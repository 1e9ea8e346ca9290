import * as v from "valibot";
import { expect, test } from "vitest";
import { findTool } from "../../view/tools/list.ts";
import { examples, matchQuestion } from "./grammar.ts";
import { periodOf } from "./period.ts";

test.for([
  ["hottest gpu", "current_state", { sort: "temperature", order: "highest", limit: 1 }],
  [
    "What are the 5 hottest GPUs?",
    "current_state",
    { sort: "temperature", order: "highest", limit: 5 },
  ],
  [
    "least used gpus on Node-A",
    "current_state",
    { sort: "utilization", order: "lowest", limit: 10, host: "Node-A" },
  ],
  [
    "which gpus are idle?",
    "current_state",
    { sort: "utilization", order: "lowest", window: "15m", limit: 20 },
  ],
  ["who uses gpu-node-3", "current_state", { host: "gpu-node-3", limit: 100 }],
  ["who uses gpu GPU-1f2e", "current_state", { gpu: "GPU-1f2e", limit: 100 }],
  ["why is gpu-node-3:4 slow", "explain", { gpu: "gpu-node-3:4" }],
  ["why is GPU-1F2E so hot", "explain", { gpu: "GPU-1F2E" }],
  ["why was job 4711 slow", "explain", { job: "4711" }],
  [
    "explain host n1 at 2026-11-01T12:00:00Z",
    "explain",
    { host: "n1", time: "2026-11-01T12:00:00Z" },
  ],
  ["energy of job 4711 last week", "show_job", { id: "4711" }],
  ["job 4711", "show_job", { id: "4711" }],
  ["energy by account last month", "bill_jobs", { by: "account", from: "30d" }],
  ["cost per project in the last 3 weeks", "bill_jobs", { by: "project", from: "21d" }],
  ["who wastes energy today", "bill_jobs", { by: "user", from: "1d" }],
  ["running jobs", "list_jobs", { state: "running" }],
  [
    "jobs of ada on n1 last 24 hours",
    "list_jobs",
    { state: "all", user: "ada", host: "n1", from: "24h" },
  ],
  ["is gpu-node-3 healthy", "gpu_health", { host: "gpu-node-3" }],
  ["health of gpu GPU-1", "gpu_health", { gpu: "GPU-1" }],
  ["which gpus are broken", "gpu_health", {}],
  ["what is firing", "list_alerts", {}],
  ["alerts on n1", "list_alerts", { host: "n1" }],
  ["what happened on n1 today", "list_events", { host: "n1", from: "1d" }],
  ["what changed in the last hour", "list_events", { from: "1h" }],
  ["what to do about GpuHot", "runbook", { alert: "GpuHot" }],
  ["metrics about pcie throughput", "find_metrics", { match: "pcie throughput" }],
  ["compare n1 and n2", "compare", { hosts: ["n1", "n2"] }],
  ["compare GPU-1f2e GPU-5b6a", "compare", { gpus: ["GPU-1f2e", "GPU-5b6a"] }],
  ["find jobs train", "find", { kind: "job", match: "train" }],
  ["find H200", "find", { kind: "gpu", match: "H200" }],
] as const)("%s runs %s", ([question, tool, input]) => {
  expect(matchQuestion(question)).toEqual({ tool, input });
});

const hottest = { sort: "temperature", order: "highest", limit: 10 };

test.for([
  ["how hot is node-3:1", "current_state", { gpu: "node-3:1", sort: "temperature", limit: 20 }],
  [
    "What's the temperature of node-3?",
    "current_state",
    { host: "node-3", sort: "temperature", limit: 20 },
  ],
  ["temperature of all gpus", "current_state", { sort: "temperature", limit: 20 }],
  ["how busy is node-3", "current_state", { host: "node-3", sort: "utilization", limit: 20 }],
  ["utilization of node-3", "current_state", { host: "node-3", sort: "utilization", limit: 20 }],
  [
    "how much memory is free on node-3",
    "current_state",
    { host: "node-3", sort: "memory", limit: 20 },
  ],
  [
    "how much power does node-3 draw",
    "current_state",
    { host: "node-3", sort: "power", limit: 20 },
  ],
  ["which gpus are too hot", "current_state", hottest],
  ["is any gpu overheating?", "current_state", hottest],
  ["which gpus are throttled", "query_promql", { promql: "gpu_throttle_active == 1" }],
  ["gpus throttling on n1", "query_promql", { promql: 'gpu_throttle_active{host="n1"} == 1' }],
  [
    "free gpus",
    "current_state",
    { sort: "utilization", order: "lowest", window: "15m", limit: 20 },
  ],
  [
    "which gpus are available on n1",
    "current_state",
    { sort: "utilization", order: "lowest", window: "15m", limit: 20, host: "n1" },
  ],
  [
    "show me the 3 hottest gpus",
    "current_state",
    { sort: "temperature", order: "highest", limit: 3 },
  ],
  ["how many gpus are there", "find", { kind: "gpu" }],
  ["how many nodes do we have", "find", { kind: "host" }],
  ["status", "find", { kind: "gpu" }],
  ["total power", "query_promql", { promql: "sum(gpu_power_watts)" }],
  ["how much power do we use", "query_promql", { promql: "sum(gpu_power_watts)" }],
  [
    "which gpus have ecc errors",
    "query_promql",
    { promql: "increase(gpu_ecc_errors_total[1d]) > 0" },
  ],
  [
    "nvlink errors last 7 days",
    "query_promql",
    { promql: "increase(gpu_interconnect_errors_total[7d]) > 0" },
  ],
  ["xid errors today", "list_events", { kind: "xid", from: "1d" }],
  ["what is running on node-3", "list_jobs", { state: "running", host: "node-3" }],
  ["which jobs are running", "list_jobs", { state: "running" }],
  ["what is ada running", "list_jobs", { state: "running", user: "ada" }],
  ["who used node-3 yesterday", "list_jobs", { state: "all", host: "node-3", from: "2d" }],
  ["why is gpu 3 on node-7 slow", "explain", { gpu: "node-7:3" }],
  ["why did job 4711 fail", "explain", { job: "4711" }],
  ["what's wrong with node-3", "explain", { host: "node-3" }],
  ["what did job 4711 cost", "show_job", { id: "4711" }],
  ["how long did job 4711 run", "show_job", { id: "4711" }],
  ["how much energy did we use last week", "bill_jobs", { by: "user", from: "7d" }],
  ["top 5 users last month", "bill_jobs", { by: "user", limit: 5, from: "30d" }],
  ["most expensive jobs", "bill_jobs", { by: "job" }],
  ["who uses the most gpus", "bill_jobs", { by: "user" }],
  ["is node-3 down", "gpu_health", { host: "node-3" }],
  ["are there any alerts?", "list_alerts", {}],
  ["show me the alerts on n1", "list_alerts", { host: "n1" }],
  ["show me the events in the last hour", "list_events", { from: "1h" }],
  ["what does GpuHot mean", "runbook", { alert: "GpuHot" }],
  ["how do I fix GpuHot", "runbook", { alert: "GpuHot" }],
  ["what is gpu_power_watts", "find_metrics", { match: "gpu_power_watts" }],
  ["compare n1 vs n2", "compare", { hosts: ["n1", "n2"] }],
  ["list hosts", "find", { kind: "host" }],
  [
    "which card runs the hottest right now?",
    "current_state",
    { sort: "temperature", order: "highest", limit: 1 },
  ],
  [
    "how hot is gpu 3 on node-7",
    "current_state",
    { gpu: "node-7:3", sort: "temperature", limit: 20 },
  ],
  ["how much electricity did we use yesterday", "bill_jobs", { by: "user", from: "2d" }],
  ["who is hogging the gpus?", "list_jobs", { state: "running" }],
  [
    "show me idle gpus since yesterday",
    "current_state",
    { sort: "utilization", order: "lowest", window: "2d", limit: 20 },
  ],
  ["what jobs is alice running", "list_jobs", { state: "running", user: "alice" }],
  ["is anything wrong with node-7", "explain", { host: "node-7" }],
  ["are there any xid errors today", "list_events", { kind: "xid", from: "1d" }],
  ["list all hosts", "find", { kind: "host" }],
  ["top 3 users by energy this week", "bill_jobs", { by: "user", limit: 3, from: "7d" }],
  ["which gpus have free memory", "current_state", { sort: "memory", order: "lowest", limit: 20 }],
  ["what happened to node-4 last night", "list_events", { host: "node-4", from: "1d" }],
  ["which nodes are down", "gpu_health", {}],
  ["is the fleet healthy?", "gpu_health", {}],
  ["which jobs wasted the most energy last week", "bill_jobs", { by: "job", from: "7d" }],
  ["which user uses the most energy", "bill_jobs", { by: "user" }],
  ["show alerts for n1", "list_alerts", { host: "n1" }],
  ["did anything change on n1 in the last 2 hours", "list_events", { host: "n1", from: "2h" }],
  ["why are the gpus of n1 slow", "explain", { host: "n1" }],
  ["how many jobs are running", "list_jobs", { state: "running" }],
  ["compare n1 with n2 over the last day", "compare", { hosts: ["n1", "n2"], from: "1d" }],
] as const)("as somebody would say it: %s runs %s", ([question, tool, input]) => {
  const { unit: _, ...matched } = matchQuestion(question) ?? {};
  expect(matched).toEqual({ tool, input });
  const checked = v.safeParse(findTool(tool)?.input ?? v.never(), input);
  expect(checked.issues?.map(({ message }) => message)).toBeUndefined();
});

test.for(["", "tell me a joke", "delete all jobs now please", "hottest", "x ".repeat(400)])(
  "%j is not understood, or nothing but a whole match",
  (question) => {
    const matched = matchQuestion(question);
    if (question === "hottest") expect(matched?.tool).toBe("current_state");
    else expect(matched).toBeUndefined();
  },
);

test("every example is understood, and names a tool that is there", () => {
  for (const example of examples)
    expect(findTool(matchQuestion(example)?.tool ?? ""), example).toBeDefined();
});

test.for([
  [undefined, undefined],
  ["7d", "7d"],
  ["today", "1d"],
  ["last week", "7d"],
  ["past 2 months", "60d"],
  ["last 90 minutes", "90m"],
] as const)("the period %s is %s", ([words, back]) => expect(periodOf(words)).toBe(back));
