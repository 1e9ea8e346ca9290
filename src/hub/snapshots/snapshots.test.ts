import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fastify } from "fastify";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog } from "../../base/log.ts";
import { hostFileAccess } from "../../machine/sysfs/file-access.ts";
import type { Snapshot } from "../../machine/snapshot.ts";
import { twoH200 } from "../../../test/fixtures/runs/snapshot.ts";
import { takeSnapshot } from "../../runs/snapshot/take.ts";
import { requiredScope } from "../auth/required-scope.ts";
import { addSnapshots } from "./routes.ts";
import { SnapshotStore } from "./store.ts";

let dataDir = "";
let archive: SnapshotStore;
let gpus = twoH200();
beforeEach(() => {
  dataDir = mkdtempSync(path.join(tmpdir(), "gpulse-snapshots-"));
  gpus = twoH200();
  archive = open();
});
afterEach(() => {
  archive.close();
  rmSync(dataDir, { recursive: true });
});

function open(maxSnapshots = 500): SnapshotStore {
  const machine = {
    procfs: dataDir,
    sysfs: dataDir,
    fileAccess: hostFileAccess,
    architecture: "x",
    env: {},
  };
  const take = () => takeSnapshot({ machine, gpus, host: "hub", nowMs: 1e12, version: "1" });
  return new SnapshotStore({ dataDir, log: silentLog, take, maxSnapshots });
}

async function app() {
  const server = fastify();
  await addSnapshots(server, archive);
  const get = async (url: string) => {
    const { statusCode, body } = await server.inject({ url });
    return { status: statusCode, body: JSON.parse(body) as Record<string, never> };
  };
  const post = (payload: object) =>
    server.inject({ method: "POST", url: "/api/snapshots", payload });
  return { get, post };
}

test("takes two, lists them and compares them", async () => {
  const { get, post } = await app();
  expect((await post({ label: "before" })).statusCode).toBe(201);
  gpus = twoH200().slice(0, 1);
  expect((await post({})).json()).toMatchObject({ data: { id: "2", label: null, gpus: 1 } });
  expect((await get("/api/snapshots")).body).toMatchObject({
    data: { snapshots: [{ id: "2" }, { id: "1", label: "before", gpus: 2 }] },
  });
  expect((await get("/api/snapshots/1")).body).toMatchObject({
    id: "1",
    format: "gpulse-snapshot",
    label: "before",
  });
  expect((await get("/api/snapshots/diff?before=1&after=2")).body).toMatchObject({
    data: { verdict: "changed" },
  });
  expect((await get("/api/snapshots/diff?before=1&after=1")).body).toMatchObject({
    data: { verdict: "same" },
  });
  expect((await get("/api/snapshot")).body).toMatchObject({ host: "hub" });
});

test.each<[string, number, RegExp]>([
  ["/api/snapshots/9", 404, /no snapshot \\"9\\"/],
  ["/api/snapshots/diff?before=1", 400, /\\"after\\"/],
  ["/api/snapshots/diff?before=1&after=7", 404, /no snapshot/],
  ["/api/snapshots/diff?before=1&after=1&power_threshold_watts=lots", 400, /is not a number/],
])("%s is refused with a sentence", async (url, status, sentence) => {
  const { get, post } = await app();
  await post({});
  const answer = await get(url);
  expect(answer.status).toBe(status);
  expect(JSON.stringify(answer.body)).toMatch(sentence);
});

test("a body of another shape or size is refused and nothing is kept", async () => {
  const { post } = await app();
  expect((await post({ lable: "x" })).statusCode).toBe(400);
  expect((await post({ label: "x".repeat(201) })).statusCode).toBe(400);
  expect((await post({ label: "x".repeat(10_000) })).statusCode).toBe(413);
  expect(archive.list()).toEqual([]);
});

test("they outlive the hub, the oldest go first, and no id is used again", async () => {
  await archive.add("a");
  await archive.add("b");
  archive.close();
  archive = open(2);
  await archive.add("c");
  const labels = archive
    .list()
    .map(({ id, snapshot }): [string, Snapshot["label"]] => [id, snapshot.label]);
  expect(labels).toEqual([
    ["3", "c"],
    ["2", "b"],
  ]);
});

test("reading needs read, taking one needs push", () => {
  expect(requiredScope("GET", "/api/snapshot")).toBe("read");
  expect(requiredScope("GET", "/api/snapshots/:id")).toBe("read");
  expect(requiredScope("POST", "/api/snapshots")).toBe("push");
});
