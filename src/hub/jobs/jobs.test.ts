import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fastify } from "fastify";
import { afterEach, expect, test } from "vitest";
import { silentLog } from "../../base/log.ts";
import { gpu } from "../../model/catalogue/index.ts";
import { type Device, deviceLabels } from "../../model/device.ts";
import { FrameWriter } from "../../model/frame.ts";
import { LayoutBuilder } from "../../model/layout.ts";
import type { Delivery } from "../../pipeline/sink.ts";
import type { JobDirectory, SchedulerReport } from "../../runs/jobs/directory.ts";
import { parseTariff } from "../../runs/jobs/tariff.ts";
import { HubJobs, type HubJobsOptions } from "./jobs.ts";
import { addJobPrivacy, addJobs } from "./routes.ts";

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0).reverse()) end();
});

const startMs = Date.UTC(2026, 10, 18, 12);
let nowMs = startMs;

function makeFolder(): string {
  const dir = mkdtempSync(path.join(tmpdir(), "gpulse-jobs-"));
  ends.push(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

function open(dataDir: string, more: Partial<HubJobsOptions> = {}): HubJobs {
  return new HubJobs({
    dataDir,
    retentionMs: 3 * 365 * 86_400_000,
    log: silentLog,
    nowMs: () => nowMs,
    trustedNowMs: () => nowMs,
    ...more,
  });
}

const device: Device = {
  uuid: "GPU-1",
  index: 0,
  vendor: "nvidia",
  model: "H200",
  simulated: false,
};

/** A frame from an agent with one GPU that draws 100 W. */
function slowFrame(seconds: number, workload?: string): Delivery {
  const builder = new LayoutBuilder();
  const energy = builder.add(gpu.energy, deviceLabels(device, "node7"));
  const activity = builder.add(gpu.smActivity, deviceLabels(device, "node7"));
  const processes = builder.add(gpu.processes, deviceLabels(device, "node7"));
  const owner =
    workload === undefined
      ? undefined
      : builder.add(gpu.ownerInfo, deviceLabels(device, "node7", { workload, user: "ada" }));
  nowMs = startMs + seconds * 1_000;
  const writer = new FrameWriter(builder.build(), nowMs);
  writer.set(energy, 5_000 + 100 * seconds);
  writer.set(activity, 0.875);
  writer.set(processes, workload === undefined ? 0 : 1);
  if (owner !== undefined) writer.set(owner, 1);
  return {
    frame: writer.finish(),
    source: "agent:node7/nvidia",
    tier: "slow",
    freshForMs: 30_000,
    devices: [device],
    host: "node7",
  };
}

/** Job 1 for 100 s, then a pause long enough to end it, then job 2, which continues. */
const story: Delivery[] = [];
for (let at = 0; at <= 100; at += 10) story.push(slowFrame(at, "1"));
for (let at = 110; at <= 450; at += 10) story.push(slowFrame(at));
for (let at = 460; at <= 560; at += 10) story.push(slowFrame(at, "2"));

async function serve(jobs: HubJobs) {
  const app = fastify();
  ends.push(() => void app.close());
  const tariffs = { price: parseTariff("0.5"), currency: "EUR", co2: parseTariff("400") };
  addJobs(app, jobs, tariffs, () => nowMs);
  app.decorateRequest("audited", null);
  addJobPrivacy(app, jobs);
  return async (url: string, payload?: object) => {
    const { statusCode, body, headers } = await app.inject(
      payload === undefined ? { url } : { method: "POST", url, payload },
    );
    const isJson = String(headers["content-type"]).startsWith("application/json");
    const read: unknown = isJson ? JSON.parse(body) : body;
    return { status: statusCode, body: read };
  };
}

test("the API lists, shows, bills and balances what the frames said", async () => {
  const jobs = open(makeFolder());
  ends.push(() => jobs.close());
  for (const delivery of story) jobs.take(delivery);
  const get = await serve(jobs);
  expect(await get("/api/jobs")).toMatchObject({
    status: 200,
    body: {
      total: 2,
      jobs: [
        { name: "2", state: "running", gpuSeconds: 105 },
        { name: "1", state: "ended", gpuSeconds: 105, joules: 10_500, usefulSeconds: 105 },
      ],
    },
  });
  expect((await get("/api/jobs?state=ended&user=ben")).body).toMatchObject({ total: 0 });
  const onGpu = (rest: string) => get(`/api/jobs?uuid=GPU-1&host=node7${rest}`);
  const [secondMs, firstEndMs] = [startMs + 460_000, startMs + 100_000];
  expect((await onGpu("")).body).toMatchObject({
    jobs: [
      { name: "2", state: "running", held: { fromMs: expect.closeTo(secondMs, -5) as number } },
      {
        name: "1",
        state: "ended",
        endMs: expect.closeTo(firstEndMs, -5) as number,
        held: { seconds: 105 },
      },
    ],
  });
  // Job 1 ended before the range: it is neither running nor in the range.
  const from = new Date(startMs + 300_000).toISOString();
  expect((await onGpu(`&from=${from}`)).body).toMatchObject({ jobs: [{ name: "2" }], total: 1 });
  expect((await get("/api/jobs?uuid=GPU-2")).body).toMatchObject({ total: 0 });
  expect((await get("/api/jobs/slurm:1")).body).toMatchObject({
    summary: { verdict: "Held 1 GPU, used 1. The used GPU had work for 100 % of the time." },
    cost: (10_500 / 3_600_000) * 0.5,
  });
  expect((await get("/api/jobs/1/text")).body).toContain("GPU Efficiency: 100.00 % of 00:01:45");
  expect((await get("/api/jobs/1/report")).body).toContain("<title>Job 1</title>");
  expect((await get("/api/jobs/bill?by=user&from=1d")).body).toMatchObject({
    currency: "EUR",
    lines: [{ name: "ada", jobs: 2, gpuSeconds: 210, joules: 21_000 }],
  });
  expect((await get("/api/jobs/books?from=1d")).body).toMatchObject({
    books: [{ uuid: "GPU-1", meterJoules: 56_000, jobJoules: 21_000, closed: true, errorRatio: 0 }],
  });
});

test.each([
  ["/api/jobs?state=done", 400, "running, ended or all"],
  ["/api/jobs?from=yesterday", 400, "from and to take a day"],
  ["/api/jobs?form=1", 400, "form"],
  ["/api/jobs/bill?by=colour", 400, "user, account, project"],
  ["/api/jobs/4711", 404, 'There is no job "4711" in the ledger.'],
])("%s is refused with %d and a reason", async (url, status, sentence) => {
  const jobs = open(makeFolder());
  ends.push(() => jobs.close());
  const { status: found, body } = await (await serve(jobs))(url);
  expect([found, JSON.stringify(body)]).toEqual([
    status,
    expect.stringContaining(JSON.stringify(sentence).slice(1, -1)),
  ]);
});

test("after a kill at any frame, with or without checkpoints, nothing is lost or counted twice", async () => {
  const whole = open(makeFolder());
  for (const delivery of story) whole.take(delivery);
  whole.flush();
  const expected = [...whole.ledger.snapshot()];
  const closed = [...whole.files.read("2026-11-18").jobs.values()];
  whole.close();
  const dir = makeFolder();
  let jobs = open(dir, { checkpointBytes: 4_000 });
  story.forEach((delivery, at) => {
    jobs.take(delivery);
    if (at % 5 !== 0) return;
    // The old instance is not closed, as after a kill. Unacknowledged frames are sent again.
    jobs = open(dir, { checkpointBytes: 4_000 });
    for (const again of story.slice(Math.max(0, at - 3), at + 1)) jobs.take(again);
  });
  jobs.flush();
  expect([...jobs.ledger.snapshot()]).toEqual(expected);
  expect([...jobs.files.read("2026-11-18").jobs.values()]).toEqual(closed);
  jobs.close();
});

test("a hub that is killed often writes what it closed once more at most, not at every start", () => {
  const dir = makeFolder();
  const first = open(dir);
  for (const delivery of story) first.take(delivery);
  first.files.flush();
  const day = path.join(dir, "jobs", "days", "2026-11-18.log");
  const written = statSync(day).size;
  const sizes: number[] = [];
  for (let start = 0; start < 4; start++) {
    open(dir);
    sizes.push(statSync(day).size);
  }
  expect(sizes[0]).toBeLessThanOrEqual(2 * written);
  expect(new Set(sizes).size).toBe(1);
});

test("a torn journal loses the torn entry at most, and the meter makes up for it", () => {
  const dir = makeFolder();
  const first = open(dir);
  for (const delivery of story.slice(0, 5)) first.take(delivery);
  appendFileSync(
    path.join(dir, "jobs", "journal"),
    Buffer.from("half a record, then the power went"),
  );
  const second = open(dir);
  ends.push(() => second.close());
  for (const delivery of story.slice(5, 11)) second.take(delivery);
  const [book] = second.openBooks();
  expect(book).toMatchObject({ meterJoules: 10_000, jobJoules: 10_000 });
});

test("reports of a scheduler are part of the journal, and its problems are listed", async () => {
  let send: (report: SchedulerReport) => void = () => expect.fail("nobody listens");
  const directory: JobDirectory & { problem: string | undefined } = {
    name: "slurm:lab",
    problem: undefined,
    subscribe: (listener) => {
      send = listener;
      return () => {};
    },
    close: () => {},
  };
  const dir = makeFolder();
  const jobs = open(dir, { directories: [directory] });
  const report = (asOf: number, ended: boolean): SchedulerReport => ({
    scheduler: "slurm",
    asOfMs: startMs + asOf * 1_000,
    jobs: [
      {
        scheduler: "slurm",
        id: "1",
        name: "train",
        state: ended ? "completed" : "running",
        stateText: ended ? "COMPLETED" : "RUNNING",
        submitMs: startMs,
        startMs,
        ...(ended ? { endMs: startMs + 97_000 } : {}),
        allocatedGpus: 1,
        allocations: [{ host: "node7", gpuIndexes: [0] }],
      },
    ],
  });
  send(report(0, false));
  for (const delivery of story.slice(0, 20)) jobs.take(delivery);
  const again = open(dir, { directories: [directory] });
  ends.push(() => again.close());
  send(report(190, true));
  directory.problem = "the controller does not answer";
  const { body } = await (await serve(again))("/api/jobs");
  expect(body).toMatchObject({
    problems: ["slurm:lab: the controller does not answer"],
    jobs: [{ name: "train", state: "completed", gpuSeconds: 97 }],
  });
});

test("ended jobs are deleted after their retention, by whole days", () => {
  const dir = makeFolder();
  const jobs = open(dir, { retentionMs: 86_400_000 });
  ends.push(() => jobs.close());
  for (const delivery of story) jobs.take(delivery);
  expect(jobs.files.days()).toEqual(["2026-11-18"]);
  nowMs = startMs + 3 * 86_400_000;
  jobs.upkeep();
  // Job 2 expired with its silent host, on the day of its last report.
  jobs.upkeep();
  expect(jobs.files.days()).toEqual([]);
});

/** A process of ada beside one of ben, for 100 s, then a pause long enough to end both. */
function runProcesses(jobs: HubJobs): void {
  for (let at = 0; at <= 450; at += 10) {
    nowMs = startMs + at * 1_000;
    const owners = ["ada", "ben"].map((user) => ({ labels: { workload: "command:python", user } }));
    jobs.enter([
      "ticks",
      [
        {
          uuid: "GPU-1",
          host: "node7",
          gpu: 0,
          model: "H200",
          simulated: false,
          timeMs: nowMs,
          joules: 100 * at,
          meter: "hardware",
          activityRatio: 0.875,
          owners: at <= 100 ? owners : [],
        },
      ],
    ]);
  }
}

test("a user's records are exported, put under a pseudonym and deleted; nobody else's change", async () => {
  const dataDir = makeFolder();
  const jobs = open(dataDir);
  runProcesses(jobs);
  const post = await serve(jobs);
  const exported = String((await post("/api/jobs/export", { user: "ada" })).body)
    .trim()
    .split("\n");
  expect(exported.map((line) => Object.keys(JSON.parse(line) as object))).toEqual([
    ["day", "job"],
    ["day", "hours"],
  ]);
  const bills = async () => (await post("/api/jobs/bill?by=day&from=1d")).body;
  const before = await bills();
  const forgotten = await post("/api/jobs/forget", { user: "ada", pseudonym: true });
  expect(forgotten).toMatchObject({ status: 200, body: { jobs: 1, days: 1, running: 0 } });
  expect(await bills()).toEqual(before);
  const listed = JSON.stringify((await post("/api/jobs")).body);
  expect(listed).not.toContain("ada");
  expect(listed).toMatch(/"user":"user-[0-9a-f]{12}"/);
  expect(JSON.stringify((await post("/api/jobs/process:node7%2Fben%2Fpython")).body)).toMatch(
    /"neighbours":\["process:node7\/user-[0-9a-f]{12}\/python@/,
  );
  // Deletion also covers records under a pseudonym.
  expect((await post("/api/jobs/forget", { user: "ada" })).body).toMatchObject({ jobs: 1 });
  expect((await post("/api/jobs")).body).toMatchObject({ total: 1, jobs: [{ user: "ben" }] });
  expect(JSON.stringify((await post("/api/jobs/process:node7%2Fben%2Fpython")).body)).toContain(
    '"neighbours":[]',
  );
  jobs.close();
  for (const name of readdirSync(dataDir, { recursive: true, encoding: "utf8" }))
    if (statSync(path.join(dataDir, name)).isFile())
      expect(readFileSync(path.join(dataDir, name), "latin1"), name).not.toContain('"ada"');
  const again = open(dataDir);
  ends.push(() => again.close());
  expect((await (await serve(again))("/api/jobs")).body).toMatchObject({ total: 1 });
});

test("with pseudonyms no file of a closed day names a user, and users find their own jobs", async () => {
  const dataDir = makeFolder();
  const jobs = open(dataDir, { isPseudonymous: true });
  ends.push(() => jobs.close());
  runProcesses(jobs);
  const get = await serve(jobs);
  expect((await get("/api/jobs?user=ada")).body).toMatchObject({ total: 1 });
  const days = path.join(dataDir, "jobs", "days");
  for (const name of readdirSync(days)) {
    const text = readFileSync(path.join(days, name), "latin1");
    expect(text).not.toMatch(/\bada\b|\bben\b/);
    expect(text).toContain("user-");
  }
});

test.each([[{}], [{ user: "" }], [{ user: "ada", pseudonym: "yes" }], [{ user: "ada", more: 1 }]])(
  "a request to forget %j is refused and changes nothing",
  async (body) => {
    const jobs = open(makeFolder());
    ends.push(() => jobs.close());
    runProcesses(jobs);
    const post = await serve(jobs);
    expect((await post("/api/jobs/forget", body)).status).toBe(400);
    expect((await post("/api/jobs")).body).toMatchObject({ total: 2 });
  },
);

test("a finished book is listed once after a restart, while its GPU is silent", async () => {
  const dir = makeFolder();
  const jobs = open(dir);
  const midnight = 12 * 3_600;
  for (let at = midnight - 100; at <= midnight + 100; at += 10) jobs.take(slowFrame(at, "1"));
  jobs.flush();
  jobs.close();
  const again = open(dir);
  ends.push(() => again.close());
  const { body } = await (await serve(again))("/api/jobs/books?from=2d");
  const days = (body as { books: { day: string }[] }).books.map(({ day }) => day);
  expect(days).toEqual(["2026-11-18", "2026-11-19"]);
});
