/** The attacks of test/attack/memory.test.ts at the size of the chart's hub: 2 GiB, 200,000 series, one token that creates more. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { HubClient } from "../../bench/overload/client.ts";
import { ensureBuild } from "../../engines/program.ts";
import { waitUntil } from "../../engines/wait.ts";
import { type AttackedHub, gpulse, startAttacked } from "../attack/lab.ts";
import { rangeQuery, ResidentMemory, writeSeries } from "../attack/memory-attack.ts";

const limitMebibytes = 2_048;
const series = 200_000;
const folder = mkdtempSync(path.join(tmpdir(), "gpulse-memory-full-"));
const clients: HubClient[] = [];
let hub: AttackedHub;
let resident: ResidentMemory;
let innocentToken = "";

beforeAll(async () => {
  await ensureBuild();
  const dataDir = path.join(folder, "hub");
  const added = await gpulse(["token", "add", "other", "--scope", "push", "--data", dataDir]);
  innocentToken = added.stdout.split("\n", 1)[0] ?? "";
  hub = await startAttacked(dataDir, ["--host=127.0.0.1", "--auth=always", "--memory=2GB"]);
  resident = new ResidentMemory(hub.process.pid);
}, 300_000);

afterAll(async () => {
  resident.close();
  for (const one of clients) one.close();
  await hub.process.stop(60_000);
  rmSync(folder, { recursive: true, force: true });
}, 120_000);

function client(token: string): HubClient {
  const made = new HubClient(hub.port, token);
  clients.push(made);
  return made;
}

const peakMebibytes = (): number => Math.round(resident.peakBytes / 2 ** 20);

test("two range queries over 200,000 series leave a hub of 2 GiB alive", async () => {
  const nowMs = Date.now();
  for (const { status } of await writeSeries(client(innocentToken), "gpu_busy", series, nowMs))
    expect(status).toBe(204);
  const reader = client(hub.tokens.read);
  const ask = (query: string, steps: number) => rangeQuery(reader, query, nowMs + 60_000, steps);
  for (const { status, body } of await Promise.all([ask("gpu_busy", 400), ask("gpu_busy", 400)]))
    expect([status, body]).toEqual([422, expect.stringContaining("the limit for one query")]);
  expect((await ask("count(gpu_busy)", 400)).body).toContain(`"${series}"`);
  expect((await reader.send({ path: "/-/healthy" })).status).toBe(200);
  expect(peakMebibytes()).toBeLessThan(limitMebibytes);
}, 900_000);

test("one token at its limit is refused, deleted, and others lose nothing", async () => {
  const [attacker, innocent, owner] = [hub.tokens.push, innocentToken, hub.tokens.admin].map(
    client,
  );
  if (!attacker || !innocent || !owner) throw new Error("BUG: a client is missing");
  const answers = await writeSeries(attacker, "attack", 500_000, Date.now());
  expect(answers[0]?.status).toBe(204);
  expect(answers.at(-1)?.status).toBe(429);
  for (const { status } of await writeSeries(innocent, "gpu_busy", series, Date.now()))
    expect(status).toBe(204);
  const asked = new URLSearchParams({ "match[]": '{__name__="attack"}' });
  const deletion = { method: "POST", path: `/api/v1/admin/tsdb/delete_series?${asked.toString()}` };
  expect((await owner.send(deletion)).status).toBe(204);
  await waitUntil({ what: "new series to be accepted", timeoutMs: 300_000 }, async () => {
    const [answer] = await writeSeries(attacker, "fresh", 5_000, Date.now());
    return answer?.status === 204 ? true : undefined;
  });
  expect(peakMebibytes()).toBeLessThan(limitMebibytes);
}, 1_800_000);
