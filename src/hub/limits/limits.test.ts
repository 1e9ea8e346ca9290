/** Tests of the hub under too many or too large requests, and with clients that do not read. */
import { anonymousClient } from "../../base/fair/client-key.ts";
import { AlertQuota } from "./alert-quota.ts";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { fastify, type FastifyInstance } from "fastify";
import { afterEach, expect, test, vi } from "vitest";
import { silentLog } from "../../base/log.ts";
import { addResponseLimits, responseLimits, PendingResponses } from "./responses.ts";
import { addRates, TokenBuckets, classOf } from "./rate.ts";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

test.each([
  ["/api/v1/query", "queriesPerSecond"],
  ["/api/v1/label/:name/values", "queriesPerSecond"],
  ["/api/analytics/:name", "heavyPerSecond"],
  ["/api/v1/admin/tsdb/snapshot", "heavyPerSecond"],
  ["/api/v1/write", undefined],
  ["/api/live", undefined],
  [undefined, undefined],
])("%s is of the class %s", (pattern, kind) => expect(classOf(pattern)).toBe(kind));

test("a bucket gives ten seconds' worth at once, then so much a second, to each by itself", () => {
  const buckets = new TokenBuckets({ queriesPerSecond: 2, alertsPerSecond: 1, heavyPerSecond: 1 });
  const take = (key: string, nowMs: number) => buckets.take("queriesPerSecond", key, nowMs);
  for (let count = 0; count < 20; count++) expect(take("a", 0).waitSeconds).toBe(0);
  expect(take("a", 0)).toEqual({ waitSeconds: 0.5, isFirst: true });
  expect(take("a", 0)).toEqual({ waitSeconds: 0.5, isFirst: false });
  expect(take("b", 0).waitSeconds).toBe(0);
  expect(take("a", 500).waitSeconds).toBe(0);
  expect(take("a", 500)).toEqual({ waitSeconds: 0.5, isFirst: true });
  expect(take("a", 3_600_000).waitSeconds).toBe(0);
});

async function hub(rates: { queriesPerSecond?: number } | undefined): Promise<FastifyInstance> {
  const app = fastify();
  ends.push(() => app.close());
  addRates(app, { log: silentLog, nowMs: () => 0, ...(rates === undefined ? {} : { rates }) });
  app.get("/api/v1/query", async () => ({}));
  app.get("/api/fleet", async () => ({}));
  return app;
}

test("a client that asks too often learns how long to wait; others and other things are not held up", async () => {
  const app = await hub({ queriesPerSecond: 1 });
  const ask = (url: string, remoteAddress = "10.0.0.1") =>
    app.inject({ method: "GET", url, remoteAddress });
  for (let count = 0; count < 10; count++)
    expect((await ask("/api/v1/query")).statusCode).toBe(200);
  const refused = await ask("/api/v1/query");
  expect([refused.statusCode, refused.headers["retry-after"]]).toEqual([429, "1"]);
  expect((await ask("/api/v1/query", "10.0.0.2")).statusCode).toBe(200);
  expect((await ask("/api/fleet")).statusCode).toBe(200);
});

test("the owner on loopback is not held up, unless the operator said how often", async () => {
  for (const [rates, last] of [
    [undefined, 200],
    [{ queriesPerSecond: 1 }, 429],
  ] as const) {
    const app = await hub(rates);
    let status = 0;
    for (let count = 0; count < 6_000 && status !== 429; count++)
      status = (await app.inject({ method: "GET", url: "/api/v1/query" })).statusCode;
    expect(status).toBe(last);
  }
});

const large = 4 * 1024 * 1024;

async function large4(limits: Partial<typeof responseLimits>): Promise<{ port: number }> {
  const app = fastify();
  ends.push(() => app.close());
  addResponseLimits(app, silentLog, { ...responseLimits, ...limits });
  app.get("/large", async (_request, reply) => reply.send(Buffer.alloc(large)));
  await app.listen({ host: "127.0.0.1", port: 0 });
  return app.server.address() as AddressInfo;
}

/** Sends a request without reading the response. */
async function holdBack(port: number): Promise<void> {
  const socket = connect(port, "127.0.0.1");
  ends.push(() => socket.destroy());
  socket.pause();
  socket.on("error", () => undefined);
  await new Promise<void>((resolve) => socket.once("connect", resolve));
  socket.write("GET /large HTTP/1.1\r\nhost: x\r\n\r\n");
}

test("one who reads nothing is let go, and what he held is free again", async () => {
  const cut = vi.fn<() => void>();
  const pending = new PendingResponses(
    { ...responseLimits, graceMs: 50, bytesPerSecond: 1e12 },
    () => cut(),
  );
  const server = createServer((_request, response) => {
    expect(pending.add("a", response, 64 * large)).toBe(true);
    response.end(Buffer.alloc(16 * large));
  });
  ends.push(
    () => server.close(),
    () => server.closeAllConnections(),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  await holdBack((server.address() as AddressInfo).port);
  await vi.waitFor(() => expect(cut).toHaveBeenCalledOnce(), { timeout: 30_000 });
  await vi.waitFor(() => expect(pending.bytes).toBe(0), { timeout: 30_000 });
});

test("when too much waits for one reader he gets no more, and it is reported as a 503", async () => {
  const { port } = await large4({ pendingBytes: large * 1.5 });
  const answer = await fetch(`http://127.0.0.1:${port}/large`);
  expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "10"]);
  expect(await answer.json()).toMatchObject({ errorType: "unavailable" });
});

test("an answer that fits is given whole", async () => {
  const { port } = await large4({});
  const answer = await fetch(`http://127.0.0.1:${port}/large`);
  expect([answer.status, (await answer.arrayBuffer()).byteLength]).toEqual([200, large]);
});

test("a request of alerts counts for each of them, and a client's active ones are bounded", () => {
  const quota = new AlertQuota({ alertsPerSecond: 100, maxActive: 8 });
  const flood = anonymousClient("10.0.0.1");
  const innocent = anonymousClient("10.0.0.2");
  expect(quota.refusal(flood, 1_001, 0)).toMatchObject({ status: 413 });
  expect(quota.refusal(flood, 1_000, 0)).toBeUndefined();
  expect(quota.refusal(flood, 1_000, 0)).toMatchObject({ status: 429, retryAfterSeconds: 10 });
  expect(quota.refusal(innocent, 1_000, 0)).toBeUndefined();
  const names = ["a", "b", "c", "d", "e"];
  expect(names.map((name) => quota.activate(flood, name))).toEqual([true, true, true, true, false]);
  expect([quota.activate(flood, "a"), quota.activate(innocent, "x")]).toEqual([true, true]);
  quota.sweep((name) => name === "a" || name === "x", 0);
  expect([quota.active, quota.activate(flood, "e")]).toEqual([2, true]);
});
