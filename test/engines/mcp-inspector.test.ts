// The MCP Inspector lists and calls every tool of a built hub.

import { afterAll, beforeAll, expect, test } from "vitest";
import { inspector } from "../../engines/inspector.ts";
import { hubProgram } from "../../engines/hub.ts";
import { node24 } from "../../engines/node24.ts";
import { runProcess } from "../../engines/process.ts";
import { tools } from "../../src/view/tools/list.ts";
import { firstJob, type McpHub, startMcpHub, waitForSeries } from "../hub/mcp-lab.ts";

let hub: McpHub;
let [node, program] = ["", ""];
beforeAll(async () => {
  [node, program] = [await node24(), await inspector()];
  hub = await startMcpHub("up", ["--source=sim:2"]);
  await waitForSeries(hub.url, "gpu_owner_info");
}, 400_000);
afterAll(() => hub.stop());

/** Over HTTP, or with `gpulse mcp` started by the inspector. */
async function inspect(target: "http" | "stdio", ...args: string[]): Promise<string> {
  const server =
    target === "http"
      ? [`${hub.url}/mcp`, "--transport", "http"]
      : [process.execPath, hubProgram, "mcp", "--url", hub.url];
  const { code, stdout, stderr } = await runProcess(node, [program, "--cli", ...server, ...args], {
    timeoutMs: 60_000,
  });
  expect([code, code === 0 ? "" : stderr]).toEqual([0, ""]);
  return stdout;
}

test.for(["http", "stdio"] as const)("it lists every tool over %s", async (target) => {
  const listed = JSON.parse(await inspect(target, "--method", "tools/list")) as {
    tools: { name: string }[];
  };
  expect(listed.tools.map(({ name }) => name)).toEqual(tools.map(({ name }) => name));
});

test("its check of schemas finds nothing to fix", async () => {
  await inspect("http", "--method", "tools/list", "--strict");
});

test.for(tools.map(({ name }) => name))("it calls %s", async (name) => {
  const reply = await fetch(`${hub.url}/api/v1/query?query=gpu_info`);
  const { data } = (await reply.json()) as {
    data: { result: { metric: { uuid: string; host: string } }[] };
  };
  const { uuid = "", host = "" } = data.result[0]?.metric ?? {};
  const job = name === "show_job" ? await firstJob(hub.url) : "";
  const given: Readonly<Record<string, string>> = {
    explain: `gpu=${uuid}`,
    query_promql: "promql=gpu_power_watts",
    show_job: `id=${job}`,
    compare: `hosts=${JSON.stringify([host])}`,
  };
  const argument = given[name];
  const called = await inspect(
    "http",
    "--method",
    "tools/call",
    "--tool-name",
    name,
    ...(argument === undefined ? [] : ["--tool-arg", argument]),
  );
  const { content, isError } = JSON.parse(called) as {
    content: { text: string }[];
    isError?: boolean;
  };
  expect([isError === true ? content[0]?.text : ""]).toEqual([""]);
  expect(content[0]?.text).toContain(`Page: ${hub.url}/`);
});
