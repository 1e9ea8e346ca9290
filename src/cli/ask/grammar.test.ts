import { expect, test } from "vitest";
import { findTool } from "../../view/tools/list.ts";
import { examples, matchQuestion, periodOf } from "./grammar.ts";

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
