/** Clients that request more memory than the hub has, against the built program with a small --memory. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { HubClient } from "../../bench/overload/client.ts";
import { ensureBuild } from "../../engines/program.ts";
import { waitUntil } from "../../engines/wait.ts";
import { type AttackedHub, gpulse, startAttacked } from "./lab.ts";
import { rangeQuery, ResidentMemory, writeSeries } from "./memory-attack.ts";

/** 70,000 series, of which one token may create 56,000; 34 MiB for one query. */
const memoryMebibytes = 384;
const folder = mkdtempSync(path.join(tmpdir(), "gpulse-memory-"));
const ends: (() => unknown)[] = [];
let hub: AttackedHub;
let resident: ResidentMemory;
let [attacker, innocent, reader, admin]: HubClient[] = [];

beforeAll(async () => {
  await ensureBuild();
  const dataDir = path.join(folder, "hub");
  const added = await gpulse(["token", "add", "other", "--scope", "push", "--data", dataDir]);
  hub = await startAttacked(dataDir, [
    "--host=127.0.0.1",
    "--auth=always",
    `--memory=${memoryMebibytes}MB`,
  ]);
  const client = (token: string): HubClient => {
    const made = new HubClient(hub.port, token);
    ends.push(() => made.close());
    return made;
  };
  attacker = client(hub.tokens.push);
  innocent = client(added.stdout.split("\n", 1)[0] ?? "");
  reader = client(hub.tokens.read);
  admin = client(hub.tokens.admin);
  resident = new ResidentMemory(hub.process.pid);
}, 300_000);

afterAll(async () => {
  resident.close();
  for (const end of ends) end();
  await hub.process.stop(20_000);
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

const clients = (): readonly [HubClient, HubClient, HubClient, HubClient] => {
  if (!attacker || !innocent || !reader || !admin) throw new Error("BUG: the hub was not started");
  return [attacker, innocent, reader, admin];
};
/** The message includes the hub's last output, which explains why it has ended. */
const expectHealthy = async (): Promise<void> => {
  const { status, body } = await clients()[2].send({ path: "/-/healthy" });
  const { process: running } = hub;
  const state = `exit: ${JSON.stringify(running.exited())}\n${running.output().slice(-4_000)}`;
  expect(status, `${body}\n${state}`).toBe(200);
};

test("two range queries over all series are refused at once, and smaller ones are answered", async () => {
  const [, other, asker] = clients();
  const nowMs = Date.now();
  for (const { status } of await writeSeries(other, "gpu_busy", 10_000, nowMs))
    expect(status).toBe(204);
  const ask = (query: string, steps = 400) => rangeQuery(asker, query, nowMs + 60_000, steps);
  for (const { status, body } of await Promise.all([ask("gpu_busy"), ask('{__name__=~"gpu.+"}')])) {
    expect(status).toBe(422);
    expect(body).toMatch(
      /query would need about \d+ MiB, the limit for one query is 34 MiB: narrow the selector, shorten the range or enlarge the step, or raise --memory/,
    );
  }
  expect((await ask("count(gpu_busy)")).body).toContain('"10000"');
  expect((await ask('gpu_busy{namespace="team-1"}')).status).toBe(200);
  expect((await ask("gpu_busy", 100)).status).toBe(200);
  await expectHealthy();
}, 120_000);

test.each([
  ["a product of vectors", "gpu_busy * gpu_busy"],
  ["a join", "gpu_busy * on () group_left sum(gpu_busy)"],
  ["replaced labels", 'label_replace(gpu_busy, "a", "$1", "pod", "(.*)") or gpu_busy'],
  ["a subquery", "max_over_time(gpu_busy[5m:1s])"],
  ["a union with itself", "gpu_busy or -gpu_busy"],
])("%s that would not fit is refused", async (_name, query) => {
  const { status, body } = await rangeQuery(clients()[2], query, Date.now(), 100);
  expect([status, body]).toEqual([422, expect.stringContaining("the limit for one query")]);
});

test("a token that creates series without end is refused with 429, and others go on", async () => {
  const [push, other, , owner] = clients();
  const answers = await writeSeries(push, "attack", 80_000, Date.now());
  const refused = answers.filter(({ status }) => status !== 204);
  expect(answers[0]?.status).toBe(204);
  // One request was stored partially.
  expect(refused.map(({ status }) => status).slice(1)).toEqual(
    Array.from({ length: refused.length - 1 }, () => 429),
  );
  expect(refused.length).toBeGreaterThan(4);
  expect(refused.at(-1)?.headers["retry-after"]).toBe("60");
  expect(refused.at(-1)?.body).toMatch(/series.*raise --memory/);
  // Existing series are still stored, and another token may even create series.
  for (const [client, metric, count] of [
    [push, "attack", 5_000],
    [other, "gpu_busy", 10_000],
    [other, "gpu_new", 500],
  ] as const)
    for (const { status } of await writeSeries(client, metric, count, Date.now() + 1_000))
      expect([metric, status]).toEqual([metric, 204]);
  const metrics = (await owner.send({ path: "/metrics" })).body;
  expect(metrics).toMatch(/gpulse_store_series_limit 70\d\d\d\n/);
  expect(metrics).toMatch(/gpulse_received_samples_total\{outcome="limit",way="influx"\} [1-9]/);
  expect((await owner.send({ path: "/-/ready" })).body).toContain("new series are refused");
  const lines = hub.process.output().split("\n");
  const reported = lines.filter((line) => line.includes("new series are refused"));
  // One per minute.
  expect(reported.length).toBeLessThanOrEqual(3);
}, 180_000);

test("series are deleted at the limit, and others may be created then", async () => {
  const [push, , , owner] = clients();
  const asked = new URLSearchParams({ "match[]": '{__name__="attack"}' });
  const deleted = await owner.send({
    method: "POST",
    path: `/api/v1/admin/tsdb/delete_series?${asked.toString()}`,
  });
  expect(deleted.status).toBe(204);
  await waitUntil({ what: "new series to be accepted", timeoutMs: 60_000 }, async () => {
    const [answer] = await writeSeries(push, "fresh", 5_000, Date.now());
    return answer?.status === 204 ? true : undefined;
  });
  const counted = await owner.send({ path: "/api/v1/query?query=count(gpu_busy)" });
  expect(counted.body).toContain('"10000"');
}, 120_000);

test("the hub survived all of it within its limit", async () => {
  await expectHealthy();
  expect(resident.peakBytes / 2 ** 20).toBeLessThan(memoryMebibytes);
});
