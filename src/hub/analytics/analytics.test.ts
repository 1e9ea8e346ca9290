import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fastify } from "fastify";
import { afterEach, expect, test } from "vitest";
import { writeLake } from "../../../test/fixtures/lake/analyses.ts";
import { silentLog } from "../../base/log.ts";
import { AnalysisQueue } from "./queue.ts";
import { addAnalytics } from "./routes.ts";

const ends: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const timeMs = Date.UTC(2026, 0, 1);

function open(rows = 3) {
  const dir = mkdtempSync(path.join(tmpdir(), "gpulse-analytics-"));
  ends.push(() => rmSync(dir, { recursive: true, force: true }));
  const lake = path.join(dir, "lake");
  const row = (at: number) => ({ timeMs: timeMs + at * 60_000, gpu_power_watts: 120 });
  if (rows > 0)
    writeLake(
      lake,
      Array.from({ length: rows }, (_, at) => row(at)),
    );
  let flushes = 0;
  const queue = new AnalysisQueue({
    // The request flushes buffered rows to the lake.
    lake: { place: lake, flush: async () => writeLake(lake, [row(100 + flushes++)], "today") },
    cacheDir: path.join(dir, "cache"),
    env: {},
    log: silentLog,
    nowMs: () => timeMs,
  });
  ends.push(() => queue.close());
  const app = fastify();
  addAnalytics(app, queue);
  ends.push(() => app.close());
  return { app, queue, lake, row, flushes: () => flushes };
}

test("the list says what can be asked, with units and defaults", async () => {
  const { app } = open();
  const { lake, analyses } = (await app.inject("/api/analytics")).json<{
    lake: boolean;
    analyses: { name: string; parameters: { name: string; default: string | null }[] }[];
  }>();
  expect(lake).toBe(true);
  expect(analyses.map(({ name }) => name)).toEqual([
    "daily",
    "hourly",
    "spikes",
    "correlation",
    "energy",
    "idle",
    "efficiency",
    "jobs_user",
    "jobs_account",
    "jobs_project",
    "jobs_day",
  ]);
  expect(analyses[4]?.parameters).toContainEqual(
    expect.objectContaining({ name: "gap", default: "5m" }),
  );
});

test("an analysis is answered as JSON and as CSV, with the newest rows", async () => {
  const { app } = open();
  const answer = (await app.inject("/api/analytics/energy?price=0.5")).json<{
    rows: Record<string, unknown>[];
  }>();
  expect(answer.rows).toEqual([
    expect.objectContaining({
      day: "2026-01-01",
      samples: 4,
      energy_kwh: expect.closeTo(0.004, 12) as unknown,
      cost: expect.closeTo(0.002, 12) as unknown,
    }),
  ]);
  const csv = await app.inject("/api/analytics/energy?format=csv");
  expect(csv.headers["content-type"]).toContain("text/csv");
  expect(csv.body.split("\n")[0]).toMatch(
    /^day,host,gpu,uuid,model,samples,covered_hours,energy_kwh/,
  );
});

test("the same question is answered once, until the lake has something new", async () => {
  const { app, lake, row } = open();
  const ask = async () =>
    (
      await app.inject({ method: "POST", url: "/api/analytics/daily", payload: { gap: "1m" } })
    ).json<{ job: string }>().job;
  const first = await ask();
  expect(await ask()).toBe(first);
  writeLake(lake, [row(200)], "more");
  expect(await ask()).not.toBe(first);
});

test("a job reports how far it is, gives its result, and can be cancelled", async () => {
  const { app, queue } = open();
  const { href, job } = (await app.inject({ method: "POST", url: "/api/analytics/idle" })).json<{
    href: string;
    job: string;
  }>();
  await queue.job(job)?.ended;
  expect((await app.inject(href)).json()).toMatchObject({
    state: "done",
    progress: 1,
    result: { name: "idle" },
  });
  // Analyses run one at a time: the second waits for the first, so it cannot have completed by itself.
  const [, later] = await Promise.all(
    ["spikes", "hourly"].map(async (name) =>
      (await app.inject({ method: "POST", url: `/api/analytics/${name}` })).json<{
        href: string;
      }>(),
    ),
  );
  expect((await app.inject({ method: "DELETE", url: later?.href ?? "" })).json()).toMatchObject({
    state: "cancelled",
    error: expect.stringContaining("cancelled") as string,
  });
});

test.each([
  ["/api/analytics/nothing", 404, /There are: daily/],
  ["/api/analytics/daily?gap=often", 400, /gap must be a duration/],
  ["/api/analytics/daily?gpus=1", 400, /no parameter gpus. Did you mean .{0,2}gpu/],
  ["/api/analytics/daily?since=2030-01-01", 200, /"rows":\[\],"note":".*no files of the GPU table/],
  ["/api/analytics/jobs/99", 404, /no analysis job/],
] as const)("%s is answered with %i and what to do", async (url, status, says) => {
  const { app } = open();
  const answer = await app.inject(url);
  expect(answer.statusCode).toBe(status);
  expect(answer.body).toMatch(says);
});

test("a hub without a lake says so", async () => {
  const app = fastify();
  ends.push(() => app.close());
  addAnalytics(app, undefined);
  expect((await app.inject("/api/analytics")).json()).toMatchObject({ lake: false });
  expect((await app.inject("/api/analytics/daily")).statusCode).toBe(404);
});
