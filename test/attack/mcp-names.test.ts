// 200 hostile names as hosts, GPUs, models, pods, users, reasons, events and alerts of a hub: whichever tool is called, with
// whichever of them as an argument, its response keeps its format, and no name appears outside quotes.

import type { Client } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { hubProgram } from "../../engines/hub.ts";
import { runProcess } from "../../engines/process.ts";
import { nameNotice } from "../../src/view/tools/answer.ts";
import { callTool, connectHttp, type McpHub, startMcpHub, waitForSeries } from "../hub/mcp-lab.ts";
import { hostileNames, mark } from "./hostile-names.ts";

let hub: McpHub;
let client: Client;

async function post(path: string, body: unknown): Promise<void> {
  const reply = await fetch(`${hub.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  expect([path, reply.ok, reply.ok ? "" : await reply.text()]).toEqual([path, true, ""]);
}

const metric = (name: string, value: number, labels: object) => ({ name, value, labels });

beforeAll(async () => {
  hub = await startMcpHub("hub", ["--no-self-scrape"]);
  for (const name of hostileNames) {
    const device = { uuid: `GPU-${name}`, host: name, gpu: name };
    const owner = { user: name, workload: name, pod: name, namespace: name };
    await post("/push", {
      job: "attack",
      instance: name,
      metrics: [
        metric("gpu_info", 1, { ...device, model: name, vendor: name, driver: name }),
        metric("gpu_owner_info", 1, { ...device, ...owner }),
        metric("gpu_utilization_ratio", 0.5, device),
        metric("gpu_power_watts", 300, device),
        metric("gpu_temperature_celsius", 70, { ...device, sensor: name }),
        metric("gpu_throttle_active", 1, { ...device, reason: name }),
      ],
    });
    await post("/api/events", {
      title: name.slice(0, 300),
      text: name,
      labels: { host: name.slice(0, 300), uuid: name.slice(0, 300) },
    });
  }
  await post(
    "/api/v2/alerts",
    hostileNames.map((name) => ({
      labels: { alertname: name, host: name, uuid: name, severity: name },
      annotations: { summary: name, description: name },
    })),
  );
  await waitForSeries(hub.url, "count(gpu_info) == 200");
  client = await connectHttp(hub.url);
}, 300_000);
afterAll(async () => {
  await client.close();
  await hub.stop();
});

const quoted = /"(?:[^"\\\n]|\\["\\]|\\u[\da-f]{4}|\\U[\da-f]{8})*"/g;
/** Only visible letters, digits and punctuation: no characters that move, hide or reorder text. */
const visible = /^[\p{L}\p{N}\p{P}\p{S} \n]*$/u;
const hidden = /\p{Default_Ignorable_Code_Point}|\p{Bidi_Control}/u;

/** Fails if a response does not have the format of `renderAnswer`. */
function checkShape(tool: string, text: string, heads: Map<string, string>): number {
  expect(text).toMatch(visible);
  expect(text).not.toMatch(hidden);
  const parts = text.split("\n\n");
  const tail = (parts.at(-1) ?? "").split("\n");
  expect([2, 3]).toContain(parts.length);
  expect(parts[0]?.split("\n")).toHaveLength(1);
  expect(tail.filter((line) => line === nameNotice)).toHaveLength(1);
  expect(tail.at(-1)).toMatch(new RegExp(`^Page: ${hub.url}/[\\w/]+(?:\\?[\\w=&%.-]*)?$`));
  for (const line of tail)
    expect(line).toMatch(
      /^(?:More: \d+ more; call|Note: |Text in double|Re-run: (?:GET \/[\w/.?=&%[\]-]*$|PromQL|further)|Page: )/,
    );
  // Links are percent-encoded; queries quote names themselves.
  const own = text
    .split("\n")
    .filter((line) => !/^(?:Page|Re-run: GET)/.test(line))
    .map((line) => line.replaceAll(quoted, '""'))
    // Range selectors are part of our own queries.
    .map((line) => (line.startsWith("Re-run") ? line.replaceAll(/\[\d+[smhd]\]/g, "") : line))
    .join("\n");
  expect(own).not.toContain(mark);
  expect(own).not.toMatch(/[<>`[\]\\]|evil|:\/\/(?!127)/);
  if (parts.length < 3) return 0;
  const [head = "", ...rows] = (parts[1] ?? "").split("\n");
  expect(head).toBe(heads.get(tool) ?? head);
  heads.set(tool, head);
  const columns = head.split(" | ").length;
  for (const row of rows) {
    const cells = row.replaceAll(quoted, '""').split(" | ");
    expect(cells).toHaveLength(columns);
    for (const cell of cells) expect(cell).toMatch(/^(?:""|-|[\w:., ()+-]+)$/);
    for (const [name] of row.matchAll(quoted)) expect(name.length).toBeLessThan(2_000);
  }
  return rows.length;
}

const heads = new Map<string, string>();

test("there are 200 names, all different", () => expect(new Set(hostileNames).size).toBe(200));

test.for([
  ["find", { kind: "gpu" }],
  ["find", { kind: "host" }],
  ["current_state", { sort: "power" }],
  ["query_promql", { promql: "gpu_info" }],
  ["query_promql", { promql: "gpu_throttle_active", since: "10m" }],
  ["list_alerts", {}],
  ["list_events", {}],
  ["gpu_health", {}],
  ["list_jobs", {}],
  ["bill_jobs", {}],
] as const)("%s %j lists all names, page by page, in its shape", async ([tool, input]) => {
  let rows = 0;
  let offset: number | undefined = 0;
  for (let calls = 0; offset !== undefined && calls < 120; calls++) {
    const { text, isError } = await callTool(client, tool, { ...input, limit: 50, offset });
    expect([isError, isError ? text : ""]).toEqual([false, ""]);
    rows += checkShape(`${tool} ${JSON.stringify(input)}`, text, heads);
    const next = /^More: \d+ more; call again with offset (\d+)\.$/m.exec(text)?.[1];
    offset = next === undefined ? undefined : Number(next);
  }
  if (!/health|jobs/.test(tool)) expect(rows).toBeGreaterThanOrEqual(200);
});

// Twelve hundred calls take minutes on a busy machine.
const manyCalls = { timeout: 600_000 };

test("as an argument, none changes the shape of an answer or of an error", manyCalls, async () => {
  const failures: string[] = [];
  for (const name of hostileNames) {
    const given = name.slice(0, 300);
    for (const [tool, input] of [
      ["find", { match: given.slice(0, 100) }],
      ["current_state", { host: given }],
      ["list_alerts", { host: given }],
      ["explain", { host: given }],
      ["show_job", { id: given.slice(0, 40) }],
      ["runbook", { alert: given }],
    ] as const) {
      const { text, isError } = await callTool(client, tool, input);
      if (!isError) checkShape(`${tool} by name`, text, heads);
      else {
        expect(text).toMatch(visible);
        expect(text).not.toMatch(hidden);
        expect(text.split("\n")).toHaveLength(1);
        const own = text.replaceAll(quoted, "").replaceAll(/\/api\/jobs\/\S*/g, "");
        if (own.includes(mark)) failures.push(`${tool}: ${text}`);
      }
    }
  }
  expect(failures).toEqual([]);
});

test("gpulse ask prints them on one line each, without a character that a terminal acts on", async () => {
  const { code, stdout } = await runProcess(process.execPath, [
    hubProgram,
    "ask",
    "100 most power gpus",
    "--url",
    hub.url,
  ]);
  expect(code).toBe(0);
  expect(stdout).toMatch(visible);
  expect(stdout).not.toMatch(hidden);
  expect(stdout.split("\n\n")[1]?.split("\n")).toHaveLength(101);
});
