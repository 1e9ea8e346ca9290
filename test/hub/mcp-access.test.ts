// Tests who may use `POST /mcp`: any local client of a loopback hub, and otherwise a token with read scope.

import { afterAll, beforeAll, expect, test } from "vitest";
import { hubProgram } from "../../engines/hub.ts";
import { runProcess } from "../../engines/process.ts";
import { callTool, connectHttp, type McpHub, startMcpHub } from "./mcp-lab.ts";

let hub: McpHub;
const tokens = new Map<string, string>();

beforeAll(async () => {
  hub = await startMcpHub("hub", ["--host=0.0.0.0", "--insecure", "--no-self-scrape"]);
}, 300_000);
afterAll(() => hub.stop());

const list = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };

async function post(token: string | undefined): Promise<{ status: number; text: string }> {
  const reply = await fetch(`${hub.url}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(list),
  });
  return { status: reply.status, text: await reply.text() };
}

test("a hub that the network can reach refuses MCP without a token, and says how to get one", async () => {
  const { status, text } = await post(undefined);
  expect(status).toBe(403);
  expect(text).toMatch(/gpulse token add/);
  expect(text).not.toContain("tools");
});

/** After the first token is created, the hub requires one everywhere. */
async function addTokens(): Promise<void> {
  for (const scope of ["read", "push"]) {
    const args = ["token", "add", `of-${scope}`, "--scope", scope, "--data", hub.dataDir];
    const { stdout, stderr } = await runProcess(process.execPath, [hubProgram, ...args]);
    const token = /gpulse_\w+?_[\w-]+/.exec(stdout)?.[0];
    if (token === undefined) throw new Error(`no token: ${stdout}${stderr}`);
    tokens.set(scope, token);
  }
}

test("a token that was never issued, and one that may only push, are refused", async () => {
  await addTokens();
  for (const token of ["gpulse_read_nobody", tokens.get("push")]) {
    const { status, text } = await post(token);
    expect([401, 403]).toContain(status);
    expect(text).not.toContain('"tools"');
  }
});

test("a token that may read lists and calls the tools", async () => {
  // A running hub reloads its token file within a moment.
  await expect.poll(async () => (await post(tokens.get("read"))).status).toBe(200);
  const client = await connectHttp(hub.url, "2026", tokens.get("read"));
  try {
    expect((await client.listTools()).tools.length).toBeGreaterThan(10);
    const { isError, text } = await callTool(client, "find");
    expect([isError, text]).toEqual([false, expect.stringMatching(/GPU/)]);
  } finally {
    await client.close();
  }
});
