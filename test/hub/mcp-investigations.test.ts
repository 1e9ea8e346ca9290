// Three investigations as an AI agent would do them, with tool calls only, over two simulated hours in which a fan and a memory
// failed and two GPUs were idle: each finds the cause within eight calls and 20,000 tokens of responses.

import type { Client } from "@modelcontextprotocol/client";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { hubProgram } from "../../engines/hub.ts";
import { runProcess } from "../../engines/process.ts";
import {
  callTool,
  connectHttp,
  countTokens,
  type McpHub,
  startMcpHub,
  tableOf,
} from "./mcp-lab.ts";

const scenario = `ambient: 27
fleet:
  - { model: H200, count: 8 }
queue:
  users: 6
  jobs:
    - { kind: training, share: 3, minutes: [20, 60] }
    - { kind: inference, share: 2, minutes: [20, 60], level: [0.3, 0.5] }
faults:
  - { fault: fan-failure, gpu: 1, at: 100m, for: 60m }
  - { fault: xid, gpu: 4, at: 113m, for: 10m, amount: 48 }
`;

const folder = mkdtempSync(path.join(tmpdir(), "gpulse-mcp-sim-"));
let hub: McpHub;
let client: Client;
beforeAll(async () => {
  hub = await startMcpHub("hub", ["--no-self-scrape"]);
  const file = path.join(folder, "lab.yaml");
  writeFileSync(file, scenario);
  const start = new Date(Date.now() - 2 * 3_600_000).toISOString();
  const from = `sim:8?scenario=${file}&speed=max&duration=2h&interval=10s&start=${start}`;
  const to = hub.url.replace("http:", "hub+http:");
  const piped = await runProcess(
    process.execPath,
    [hubProgram, "pipe", "--from", from, "--to", to],
    { timeoutMs: 170_000 },
  );
  if (piped.code !== 0) throw new Error(`the simulated hours did not arrive: ${piped.stderr}`);
  client = await connectHttp(hub.url);
}, 300_000);
afterAll(async () => {
  await client.close();
  await hub.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Counts the calls and tokens of an investigation. */
function openInvestigation() {
  let [calls, tokens] = [0, 0];
  return {
    ask: async (name: string, input: Readonly<Record<string, unknown>> = {}): Promise<string> => {
      const { text, isError } = await callTool(client, name, input);
      expect([name, isError ? text : ""]).toEqual([name, ""]);
      calls++;
      tokens += countTokens(text);
      return text;
    },
    check: (title: string): void => {
      process.stdout.write(`${title}: ${calls} calls, ${tokens} tokens of answers\n`);
      expect(calls).toBeLessThanOrEqual(8);
      expect(tokens).toBeLessThanOrEqual(20_000);
    },
  };
}

const unquote = (cell: string | undefined): string => JSON.parse(cell ?? '""') as string;
const rowsOf = (text: string): string[][] => tableOf(text).slice(1);

test("why is training slow: the GPU of the job has lost its airflow", async () => {
  const { ask, check } = openInvestigation();
  const hottest = await ask("current_state", { sort: "temperature", limit: 5, window: "10m" });
  const [[uuid, host] = []] = rowsOf(hottest);
  const found = await ask("explain", { gpu: unquote(uuid) });
  expect(unquote(rowsOf(found)[0]?.[1])).toBe("No airflow over the heatsink");
  const jobs = await ask("list_jobs", { host: unquote(host), state: "running" });
  expect(rowsOf(jobs).length).toBeGreaterThan(0);
  const events = await ask("list_events", { host: unquote(host) });
  expect(events).toContain(unquote(uuid));
  const shown = /^Re-run: PromQL: (.*)$/m.exec(found)?.[1] ?? "";
  const again = await ask("query_promql", { promql: shown, since: "1h" });
  expect(rowsOf(again).length).toBeGreaterThan(0);
  expect(await ask("runbook", { alert: "GpuTooHot" })).toContain("**Fix.**");
  check("why is training slow");
});

test("which GPUs waste energy: two without work, and the watts they draw", async () => {
  const { ask, check } = openInvestigation();
  const bill = await ask("bill_jobs", { by: "user", from: "1d" });
  expect(rowsOf(bill)).toHaveLength(6);
  await ask("list_jobs", { from: "1d" });
  const idle = rowsOf(await ask("current_state", { order: "lowest", window: "2h", limit: 5 }));
  const unused = idle.filter((row) => Number(row[3]) === 0);
  expect(unused).toHaveLength(2);
  const sum = await ask("query_promql", {
    promql:
      "sum(avg_over_time(gpu_power_watts[2h]) and on (uuid, host) (avg_over_time(gpu_utilization_ratio[2h]) < 0.01))",
  });
  const watts = unused.reduce((total, row) => total + Number(row[5]), 0);
  expect(Math.abs(Number(rowsOf(sum)[0]?.[1]) - watts)).toBeLessThan(2);
  check("which GPUs waste energy");
});

test("is this node fit: no, its memory returned wrong data", async () => {
  const { ask, check } = openInvestigation();
  const health = await ask("gpu_health");
  // The stream has ended: old readings yield no verdict.
  expect(health).toContain("8 unknown");
  const [[host] = []] = rowsOf(health);
  await ask("list_alerts", { host: unquote(host) });
  await ask("list_events", { host: unquote(host), from: "7d" });
  const found = await ask("explain", { host: unquote(host) });
  expect(rowsOf(found)[0]?.[3]).toContain("Xid 48");
  const metric = await ask("find_metrics", { match: "xid" });
  expect(metric).toContain("gpu_xid_errors_total");
  const xids = await ask("query_promql", { promql: "max_over_time(gpu_xid_errors_total[1h]) > 0" });
  expect(xids).toContain('xid=\\"48\\"');
  check("is this node fit");
});
