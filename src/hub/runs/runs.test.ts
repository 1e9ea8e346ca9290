import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fastify } from "fastify";
import { afterEach, expect, test } from "vitest";
import { createLog } from "../../base/log.ts";
import { packRun } from "../../runs/file/file.ts";
import { fixtureRun } from "../../../test/fixtures/runs/runs.ts";
import { requiredScope } from "../auth/required-scope.ts";
import { addRuns } from "./routes.ts";
import { RunStore, runLimits } from "./store.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

const lines: string[] = [];
const log = createLog({
  level: "warn",
  json: false,
  colour: false,
  nowMs: () => 0,
  write: (line) => void lines.push(line),
});

async function hub(limits = runLimits, folder = mkdtempSync(path.join(tmpdir(), "gpulse-runs-"))) {
  if (!folders.includes(folder)) folders.push(folder);
  const app = fastify();
  await addRuns(app, new RunStore(folder, log, limits));
  const post = (payload: Uint8Array) =>
    app.inject({
      method: "POST",
      url: "/api/runs",
      payload: Buffer.from(payload),
      headers: { "content-type": "application/octet-stream" },
    });
  return { app, folder, post };
}

const packed = async (id: string) => (await packRun(fixtureRun({ id }))).bytes;

test("a run that was pushed is listed, opened, fetched and deleted", async () => {
  const { app, post } = await hub();
  const bytes = await packed("run-1");
  expect((await post(bytes)).statusCode).toBe(201);
  const listed = (await app.inject("/api/runs")).json<{ runs: { run: { id: string } }[] }>();
  expect(listed.runs.map(({ run }) => run.id)).toEqual(["run-1"]);
  expect((await app.inject("/api/runs/run-1")).json()).toMatchObject({ run: { label: "a" } });
  const file = await app.inject("/api/runs/run-1/file");
  expect(Buffer.compare(file.rawPayload, bytes)).toBe(0);
  expect((await app.inject({ method: "DELETE", url: "/api/runs/run-1" })).statusCode).toBe(204);
  expect((await app.inject("/api/runs/run-1")).statusCode).toBe(404);
});

test("the same run again is no second one, another of its id is refused", async () => {
  const { post } = await hub();
  await post(await packed("run-1"));
  expect((await post(await packed("run-1"))).statusCode).toBe(200);
  const other = await packRun(fixtureRun({ id: "run-1", label: "b" }));
  expect((await post(other.bytes)).statusCode).toBe(409);
});

test("a changed run is refused with the entry that was changed", async () => {
  const { post } = await hub();
  const bytes = await packed("run-1");
  const at = Buffer.from(bytes).indexOf("PAR1");
  bytes[at + 8] = (bytes[at + 8] ?? 0) ^ 1;
  const answer = await post(bytes);
  expect(answer.statusCode).toBe(400);
  expect(answer.json<{ error: string }>().error).toContain("trace.parquet was changed");
});

test("an id that is a path never becomes a file", async () => {
  const { post } = await hub();
  const { bytes } = await packRun(fixtureRun({ id: "../../evil" }));
  expect((await post(bytes)).statusCode).toBe(400);
});

test("bounds: bytes of one, and how many", async () => {
  const { post } = await hub({ ...runLimits, runs: 1 });
  await post(await packed("run-1"));
  expect((await post(await packed("run-2"))).statusCode).toBe(507);
  const small = await hub({ ...runLimits, runBytes: 100 });
  expect((await small.post(await packed("run-1"))).statusCode).toBe(413);
  expect((await small.post(new Uint8Array())).statusCode).toBe(400);
});

test("what was kept is there after a restart, and a damaged file is reported", async () => {
  const { post, folder } = await hub();
  await post(await packed("run-1"));
  writeFileSync(path.join(folder, "broken.gpulserun"), "no zip");
  const again = await hub(runLimits, folder);
  const { runs } = (await again.app.inject("/api/runs")).json<{ runs: unknown[] }>();
  expect(runs).toHaveLength(1);
  expect(lines.join()).toContain("broken.gpulserun");
});

test.each([
  ["GET", "/api/runs", "read"],
  ["GET", "/api/runs/:id/file", "read"],
  ["POST", "/api/runs", "push"],
  ["DELETE", "/api/runs/:id", "admin"],
] as const)("%s %s needs %s", (method, route, scope) => {
  expect(requiredScope(method, route)).toBe(scope);
});

test("a run that unpacks to more than it may is refused, and none of it is kept", async () => {
  const { bytes: packedBytes, cells } = runLimits.unpacked;
  for (const unpacked of [
    { bytes: 1_000, cells },
    { bytes: packedBytes, cells: 100 },
  ]) {
    const { app, post } = await hub({ ...runLimits, unpacked });
    const answer = await post(await packed("run-1"));
    expect(answer.statusCode).toBe(400);
    expect(answer.json<{ error: string }>().error).toMatch(
      /unpacks to more|more than 100 readings/,
    );
    expect((await app.inject("/api/runs")).json()).toEqual({ runs: [] });
  }
});
