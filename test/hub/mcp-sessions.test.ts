// Tests a thousand concurrent MCP sessions, and clients that stall: the hub keeps serving others.

import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callTool, connectHttp, type McpHub, startMcpHub, waitForSeries } from "./mcp-lab.ts";

let hub: McpHub;
beforeAll(async () => {
  hub = await startMcpHub("up", ["--source=sim:8"]);
  await waitForSeries(hub.url, "gpu_owner_info");
}, 300_000);
afterAll(() => hub.stop());

// Three thousand requests take minutes on a busy machine.
const manySessions = { timeout: 600_000 };

test(
  "1,000 parallel sessions are all answered, and a query beside them is not held up",
  manySessions,
  async () => {
    const count = 1_000;
    let pending = count;
    const sessions = Array.from({ length: count }, async (_, at) => {
      const client = await connectHttp(hub.url, at % 2 === 0 ? "2025" : "2026");
      const { text, isError } = await callTool(client, "find", { kind: "host" });
      await client.close();
      pending--;
      return isError ? text : "";
    });
    // One after the other: each has to be answered while hundreds of sessions wait.
    const pendingAfter: number[] = [];
    for (let asked = 0; asked < 10; asked++) {
      const reply = await fetch(`${hub.url}/api/v1/query?query=count(gpu_up)`);
      expect(reply.status).toBe(200);
      await reply.arrayBuffer();
      pendingAfter.push(pending);
    }
    expect(pendingAfter.at(-1)).toBeGreaterThan(0);
    expect((await Promise.all(sessions)).filter((failure) => failure !== "")).toEqual([]);
  },
);

/** Starts a request; the caller continues it. */
async function open(text: string): Promise<Socket> {
  const { hostname, port } = new URL(hub.url);
  const socket = connect(Number(port), hostname);
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", () => resolve());
    socket.once("error", reject);
  });
  socket.on("error", () => {});
  socket.write(text);
  return socket;
}

test("clients that do not send their body, or do not read the answer, hold nobody up", async () => {
  const { host } = new URL(hub.url);
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "find_metrics", arguments: { limit: 100 } },
  });
  const head = [
    "POST /mcp HTTP/1.1",
    `host: ${host}`,
    "content-type: application/json",
    "accept: application/json, text/event-stream",
  ];
  const request = (length: number, sent: string): string =>
    `${[...head, `content-length: ${length}`].join("\r\n")}\r\n\r\n${sent}`;
  const stalled = await Promise.all([
    ...Array.from({ length: 100 }, () => open(request(body.length, body.slice(0, 20)))),
    ...Array.from({ length: 100 }, async () => {
      const socket = await open(request(body.length, body).repeat(20));
      return socket.pause();
    }),
  ]);
  const client = await connectHttp(hub.url);
  for (let calls = 0; calls < 20; calls++)
    expect(await callTool(client, "find")).toMatchObject({ isError: false });
  await client.close();
  for (const socket of stalled) socket.destroy();
});

test.for([
  ["no JSON", "{", 400, -32_700],
  ["no request", '{"jsonrpc":"2.0"}', 400, -32_600],
  ["an unknown method", '{"jsonrpc":"2.0","id":1,"method":"tools/delete"}', 200, -32_601],
] as const)("%s is answered as JSON-RPC", async ([, body, status, code]) => {
  const reply = await fetch(`${hub.url}/mcp`, {
    method: "POST",
    body,
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
  });
  expect(reply.status).toBe(status);
  expect(await reply.text()).toContain(`"code":${code}`);
});

test.for([
  [{ "content-type": "text/plain" }, "{}", 415],
  [{ "content-type": "application/json" }, JSON.stringify({ x: "y".repeat(70_000) }), 413],
  [{ "content-type": "application/json", origin: "http://evil.example" }, "{}", 403],
] as const)("a request with %j is refused", async ([headers, body, status]) => {
  expect((await fetch(`${hub.url}/mcp`, { method: "POST", body, headers })).status).toBe(status);
});

test("a stream of notifications is not offered", async () => {
  const reply = await fetch(`${hub.url}/mcp`, { headers: { accept: "text/event-stream" } });
  expect([reply.status, reply.headers.get("allow")]).toEqual([405, "POST"]);
});
