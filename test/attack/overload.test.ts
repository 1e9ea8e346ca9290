/** Clients that request all of a hub's capacity, against the built program: they are refused, and others are served. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { HubClient } from "../../bench/overload/client.ts";
import {
  alertFlood,
  ghostAgent,
  pushBombs,
  sample,
  slowQuery,
} from "../../bench/overload/floods.ts";
import { ensureBuild } from "../../engines/program.ts";
import { waitUntil } from "../../engines/wait.ts";
import { type AttackedHub, startAttacked } from "./lab.ts";

const folder = mkdtempSync(path.join(tmpdir(), "gpulse-overload-"));
const sockets: Socket[] = [];
let hub: AttackedHub;
let [flood, reader, innocent]: HubClient[] = [];
beforeAll(async () => {
  await ensureBuild();
  hub = await startAttacked(path.join(folder, "hub"), ["--host=127.0.0.1", "--auth=always"]);
  const { push, read, admin } = hub.tokens;
  flood = new HubClient(hub.port, push);
  reader = new HubClient(hub.port, read);
  innocent = new HubClient(hub.port, admin, "127.0.0.3");
}, 300_000);
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  for (const client of [flood, reader, innocent]) client?.close();
  await hub.process.stop(20_000);
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

const clients = (): readonly [HubClient, HubClient, HubClient] => {
  if (flood === undefined || reader === undefined || innocent === undefined)
    throw new Error("BUG: the hub was not started");
  return [flood, reader, innocent];
};
const logLines = (): number => hub.process.output().split("\n").length;
const isHealthy = async (): Promise<boolean> =>
  (await clients()[2].send({ path: "/-/healthy" })).status === 200;

test("a flood of alerts is refused by request, by rate and in total, in a few log lines", async () => {
  const [attacker] = clients();
  const before = logLines();
  expect((await attacker.send(alertFlood(0, 20_000))).status).toBe(413);
  const statuses: number[] = [];
  for (let request = 1; request <= 12; request++) {
    const answer = await attacker.send(alertFlood(request, 1_000));
    statuses.push(answer.status);
    if (answer.status === 429) expect(Number(answer.headers["retry-after"])).toBeGreaterThan(0);
  }
  expect(statuses[0]).toBe(200);
  expect(statuses).toContain(429);
  const listed = await clients()[2].send({ path: "/api/v2/alerts" });
  expect((JSON.parse(listed.body) as unknown[]).length).toBeLessThanOrEqual(10_000);
  expect(logLines() - before).toBeLessThan(50);
  expect(await isHealthy()).toBe(true);
});

test("alerts of somebody else are accepted during the flood", async () => {
  const [, , other] = clients();
  expect((await other.send(alertFlood(99, 10))).status).toBe(200);
});

test("forty small bodies that unpack to 15 MB are refused, and a sample beside them is stored", async () => {
  const [attacker, , other] = clients();
  const bombs = Array.from({ length: 40 }, (_, at) =>
    attacker.send(pushBombs[at % pushBombs.length] ?? { path: "/push" }),
  );
  const nowMs = Date.now();
  expect((await other.send(sample("beside_the_bombs", 7, nowMs))).status).toBe(204);
  const statuses = (await Promise.all(bombs)).map(({ status }) => status);
  expect(statuses.filter((status) => ![413, 429].includes(status))).toEqual([]);
  const found = await other.send({ path: "/api/v1/query?query=beside_the_bombs" });
  expect(found.body).toContain('"7"');
});

test("agents that do not exist take few places, and a real one beside them gets its own", async () => {
  const [attacker, , other] = clients();
  for (let at = 0; at < 600; at += 50)
    await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        attacker.send(ghostAgent(`ghost-${at + index}`, Date.now())),
      ),
    );
  expect((await other.send(ghostAgent("real", Date.now()))).status).toBe(200);
  const { agents } = JSON.parse((await other.send({ path: "/api/agents" })).body) as {
    agents: { id: string }[];
  };
  expect(agents.length).toBeLessThanOrEqual(256);
  expect(agents.map(({ id }) => id)).toContain("real");
});

test("one client that asks slow queries without end does not hold up a quick one of another", async () => {
  const [, , other] = clients();
  const asker = new HubClient(hub.port, hub.tokens.read);
  let finished = 0;
  for (let count = 0; count < 40; count++)
    void asker.send(slowQuery(Date.now())).then(() => finished++);
  await waitUntil({ what: "the queries to run", timeoutMs: 30_000 }, async () =>
    (await isHealthy()) ? true : undefined,
  );
  const quick = await other.send({ path: "/api/v1/query?query=vector(1)" });
  expect([quick.status, finished]).toEqual([200, 0]);
  asker.close();
});

test("two addresses that hold all the room they can get leave some for a third", async () => {
  const [, , other] = clients();
  const bodyBytes = 16 * 2 ** 20;
  let refused = 0;
  for (const address of ["127.0.0.1", "127.0.0.2"])
    for (let body = 0; body < 8; body++) {
      const socket = connect({ host: "127.0.0.1", port: hub.port, localAddress: address });
      sockets.push(socket);
      let answered = false;
      socket.on("error", () => (answered = true)).on("data", () => (answered = true));
      await once(socket, "connect");
      socket.write(
        `POST /api/v1/write HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${hub.tokens.push}\r\nContent-Type: application/x-protobuf\r\nContent-Length: ${bodyBytes}\r\n\r\n`,
      );
      let isSent = false;
      socket.write(Buffer.alloc(bodyBytes - 1), () => (isSent = true));
      await waitUntil({ what: "a body to be read or refused", timeoutMs: 60_000 }, async () =>
        isSent || answered ? true : undefined,
      );
      if (answered) refused++;
    }
  expect(refused).toBeGreaterThan(0);
  const nowMs = Date.now();
  expect((await other.send(sample("beside_the_flood", 8, nowMs))).status).toBe(204);
  for (const socket of sockets.splice(0)) socket.destroy();
});

test("one reader with every live page open makes room for somebody else's", async () => {
  const [, asker, other] = clients();
  const pages: Awaited<ReturnType<HubClient["live"]>>[] = [];
  for (let at = 0; at < 500; at += 50)
    pages.push(...(await Promise.all(Array.from({ length: 50 }, () => asker.live()))));
  expect(new Set(pages.map(({ status }) => status))).toEqual(new Set([200]));
  const page = await other.live();
  expect(page.status).toBe(200);
  await waitUntil({ what: "a page to hear why it was closed", timeoutMs: 30_000 }, async () =>
    pages.some((one) => one.text().includes("event: closed")) ? true : undefined,
  );
  for (const one of [...pages, page]) one.close();
});
