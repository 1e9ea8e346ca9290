import { expect, test } from "vitest";
import type { SchedulerJob } from "../../model/scheduler-job.ts";
import { Bill } from "./bill.ts";
import { bookedJoules, bookError } from "./day-books.ts";
import { Ledger, type LedgerEntry } from "./ledger.ts";
import { parseEntry } from "./entry.ts";
import type { JobRecord, LedgerOutput } from "./record.ts";
import type { GpuTick, TickOwner } from "./tick.ts";

const startMs = Date.UTC(2026, 10, 18, 12);

const owner = (workload: string, more: Partial<TickOwner> = {}): TickOwner => ({
  labels: { workload, user: "ada" },
  ...more,
});

/** One GPU at 100 W. */
function tick(seconds: number, owners: GpuTick["owners"], more: Partial<GpuTick> = {}): GpuTick {
  return {
    uuid: "GPU-1",
    host: "node7",
    gpu: 0,
    model: "H200",
    simulated: false,
    timeMs: startMs + seconds * 1_000,
    joules: 1_000 + 100 * seconds,
    meter: "hardware",
    activityRatio: 0.8,
    xids: {},
    ...(owners === undefined ? {} : { owners }),
    ...more,
  };
}

function feed(ledger: Ledger, given: readonly GpuTick[]): LedgerOutput {
  return applyAll(
    ledger,
    given.map((one) => ["ticks", [one]]),
  );
}

function applyAll(ledger: Ledger, entries: readonly LedgerEntry[]): LedgerOutput {
  const all: LedgerOutput = { jobs: [], parts: [], books: [] };
  for (const entry of entries) {
    const { jobs, parts, books } = ledger.apply(entry);
    all.jobs.push(...jobs);
    all.parts.push(...parts);
    all.books.push(...books);
  }
  return all;
}

/** Ticks every ten seconds from one time to the other. */
function ticks(
  from: number,
  to: number,
  owners: GpuTick["owners"],
  more: Partial<GpuTick> = {},
): GpuTick[] {
  const list: GpuTick[] = [];
  for (let at = from; at <= to; at += 10) list.push(tick(at, owners, more));
  return list;
}

const stretchOf = (job: JobRecord | undefined) => job?.stretches[0];
const openOf = (ledger: Ledger): JobRecord[] => [...ledger.openJobs()].map(({ record }) => record);

test("a pod has the controller that Kubernetes names, reported before or after the pod is seen, also after a restart", () => {
  const podTicks = (pod: string): GpuTick[] =>
    ticks(0, 60, [{ labels: { namespace: "lab", pod, container: "main" } }], { uuid: pod });
  const ledger = new Ledger();
  ledger.apply(["pods", [{ namespace: "lab", pod: "a-1", controller: "PyTorchJob/a" }]]);
  const restarted = new Ledger();
  for (const entry of ledger.snapshot())
    restarted.apply(parseEntry(JSON.parse(JSON.stringify(entry))) ?? expect.fail());
  feed(restarted, podTicks("a-1"));
  feed(restarted, podTicks("b-7"));
  restarted.apply(["pods", [{ namespace: "lab", pod: "b-7", controller: "Job/b" }]]);
  feed(restarted, podTicks("c"));
  expect(openOf(restarted).map(({ name, controller }) => [name, controller])).toEqual([
    ["a-1", "PyTorchJob/a"],
    ["b-7", "Job/b"],
    ["c", undefined],
  ]);
  const bill = new Bill({ by: "controller", fromMs: startMs, toMs: startMs + 3_600_000 });
  for (const open of restarted.openJobs()) bill.add(open.part(open.hours()));
  const names = bill.lines().map(({ name }) => name);
  expect(names.sort()).toEqual(["lab/Job/b", "lab/PyTorchJob/a", "unknown"]);
});

test("a job holds its GPU from half a tick before it is seen to half a tick after", () => {
  const ledger = new Ledger();
  const { jobs } = feed(ledger, [
    ...ticks(0, 20, []),
    ...ticks(30, 130, [owner("4711")]),
    ...ticks(140, 440, []),
  ]);
  expect(jobs).toHaveLength(1);
  expect(jobs[0]).toMatchObject({
    id: `slurm:4711@${startMs / 1_000 + 25}`,
    kind: "slurm",
    user: "ada",
    end: "ended",
    startMs: startMs + 25_000,
    endMs: startMs + 135_000,
  });
  expect(stretchOf(jobs[0])).toMatchObject({
    gpuSeconds: 110,
    // The tick after its end determines its last half interval.
    usefulSeconds: 110,
    joules: 11_000,
    joulesByRule: { exclusive: 11_000 },
  });
});

test.each([
  ["plain processes", () => new Ledger()],
  [
    "jobs beside a scheduler",
    () => {
      const ledger = new Ledger();
      ledger.apply(report(-60));
      return ledger;
    },
  ],
])("of %s, the memory read once a GPU has its next owner is not the first one's", (_, open) => {
  const ledger = open();
  feed(ledger, [
    ...ticks(0, 60, [owner("a")], { memoryBytes: 10e9, peakMemoryBytes: 12e9 }),
    ...ticks(70, 120, [owner("b")], { memoryBytes: 80e9, peakMemoryBytes: 90e9 }),
  ]);
  ledger.apply(report(200));
  const peaks = openOf(ledger).map((job) => [job.name, stretchOf(job)?.peakMemoryBytes]);
  expect(peaks).toEqual([
    ["a", 12e9],
    ["b", 90e9],
  ]);
});

test("the day's book has jobs, idleness and what nobody reports, and closes", () => {
  const ledger = new Ledger();
  feed(ledger, [
    ...ticks(0, 100, [owner("1")]),
    ...ticks(110, 200, []),
    ...ticks(210, 300, undefined),
  ]);
  const [book] = ledger.openBooks();
  if (book === undefined) return expect.fail();
  expect(book).toMatchObject({ meterJoules: 30_000, jobJoules: 10_500, idleJoules: 9_500 });
  expect(book.gaps.owner_unknown).toEqual({ seconds: 100, joules: 10_000 });
  expect([bookedJoules(book), bookError(book)]).toEqual([30_000, 0]);
});

test("energy goes by the processes' share where it is known, else in equal parts, marked as such", () => {
  const shared = (left: TickOwner, right: TickOwner): JobRecord[] => {
    const ledger = new Ledger();
    feed(ledger, ticks(0, 100, [left, right]));
    return openOf(ledger);
  };
  const known = shared(
    owner("1", { utilizationRatio: 0.75 }),
    owner("2", { utilizationRatio: 0.25 }),
  );
  expect(known.map(({ stretches }) => stretches[0]?.joulesByRule)).toEqual([
    { process_share: 7_500 },
    { process_share: 2_500 },
  ]);
  expect(known[0]?.stretches[0]?.neighbours).toEqual([known[1]?.id]);
  const unknown = shared(owner("1"), owner("2", { utilizationRatio: 0.2 }));
  expect(unknown.map(({ stretches }) => stretches[0]?.joulesByRule)).toEqual([
    { equal_split: 5_000 },
    { equal_split: 5_000 },
  ]);
});

test("seconds below the floor are held idle, and without a reading they are unknown", () => {
  const ledger = new Ledger();
  feed(ledger, [
    ...ticks(0, 50, [owner("1")]),
    ...ticks(60, 100, [owner("1")], { activityRatio: 0.01 }),
    ...ticks(110, 120, [owner("1")], { activityRatio: undefined }),
  ]);
  expect(stretchOf(openOf(ledger)[0])).toMatchObject({
    gpuSeconds: 120,
    usefulSeconds: 50,
    heldIdleSeconds: 50,
    unknownSeconds: 20,
  });
});

test("throttling, Xids and anomalies count for the job that held the GPU", () => {
  const ledger = new Ledger();
  const at = (seconds: number, power: number, xid: number): GpuTick =>
    tick(seconds, [owner("1")], {
      throttleSeconds: { power_cap: power },
      xids: xid === 0 ? {} : { "31": xid },
      anomalies: xid === 0 ? [] : ["clock_low"],
      memoryBytes: seconds * 1e9,
      tensorRatio: 0.5,
    });
  feed(ledger, [at(0, 100, 0), at(10, 104, 0), at(20, 108, 2)]);
  expect(stretchOf(openOf(ledger)[0])).toMatchObject({
    throttledSeconds: { power_cap: 8 },
    xids: { "31": 2 },
    anomalies: ["clock_low"],
    peakMemoryBytes: 20e9,
    meanMemoryBytes: 15e9,
    meanTensorRatio: 0.5,
  });
});

test("a tick that is repeated, or older, changes nothing", () => {
  const entries = ticks(0, 100, [owner("1")]);
  const [once, twice] = [new Ledger(), new Ledger()];
  feed(once, entries);
  feed(
    twice,
    entries.flatMap((one, at) => [one, one, ...entries.slice(0, at)]),
  );
  expect([...twice.snapshot()]).toEqual([...once.snapshot()]);
});

test("a ledger that was restored from any point continues as if it had not stopped", () => {
  const entries = [
    ...ticks(0, 90, [owner("1")]),
    ...ticks(100, 200, [owner("2"), owner("3", { utilizationRatio: 0.5 })]),
    ...ticks(210, 600, []),
  ];
  const whole = new Ledger();
  const expected = feed(whole, entries);
  for (let cut = 1; cut < entries.length; cut += 7) {
    const first = new Ledger();
    const before = feed(first, entries.slice(0, cut));
    const second = new Ledger();
    for (const entry of first.snapshot()) {
      const parsed = parseEntry(JSON.parse(JSON.stringify(entry)));
      if (parsed === undefined) return expect.fail(`not understood: ${entry[0]}`);
      second.apply(parsed);
    }
    // The last ticks before the stop are sent again.
    const after = feed(second, entries.slice(Math.max(0, cut - 5)));
    expect([...before.jobs, ...after.jobs]).toEqual(expected.jobs);
    expect([...second.snapshot()]).toEqual([...whole.snapshot()]);
  }
});

test("a gap goes to the holder before and after it, and to nobody where they differ", () => {
  const same = new Ledger();
  feed(same, [tick(0, [owner("1")]), tick(600, [owner("1")])]);
  expect(stretchOf(openOf(same)[0])).toMatchObject({
    gpuSeconds: 600,
    unobservedSeconds: 600,
    unknownSeconds: 600,
    joules: 60_000,
  });
  const other = new Ledger();
  feed(other, [tick(0, [owner("1")]), tick(600, [owner("2")])]);
  const [book] = other.openBooks();
  expect(book?.gaps).toEqual({ no_readings: { seconds: 600, joules: 60_000 } });
  expect(book && bookError(book)).toBe(0);
});

test("a counter that restarts and a clock that is set back are named, and the book closes", () => {
  const ledger = new Ledger();
  feed(ledger, [
    ...ticks(0, 100, [owner("1")]),
    // The driver was reloaded and has counted 500 J since.
    tick(110, [owner("1")], { joules: 500 }),
    tick(120, [owner("1")], { joules: 1_500 }),
    // The clock was set back by a minute, the counter continues.
    tick(60, [owner("1")], { joules: 2_500 }),
    tick(70, [owner("1")], { joules: 3_500 }),
  ]);
  const [book] = ledger.openBooks();
  if (book === undefined) return expect.fail();
  expect(book.gaps).toEqual({ clock_jumped_back: { seconds: 0, joules: 1_000 } });
  expect(book.meterJoules).toBe(10_000 + 500 + 1_000 + 1_000 + 1_000);
  expect(bookError(book)).toBe(0);
});

test("midnight divides an interval between two days", () => {
  const ledger = new Ledger();
  const { books } = feed(ledger, ticks(12 * 3_600 - 25, 12 * 3_600 + 95, [owner("1")]));
  expect(books.map(({ day, meterJoules }) => [day, meterJoules])).toEqual([["2026-11-18", 2_500]]);
  expect([...ledger.openBooks()].map(({ day, meterJoules }) => [day, meterJoules])).toEqual([
    ["2026-11-19", 9_500],
  ]);
  const hours = [...ledger.openJobs()][0]?.hours() ?? [];
  expect(hours.map(([, seconds, , , joules]) => [seconds, joules])).toEqual([
    [25, 2_500],
    [95, 9_500],
  ]);
});

const slurmJob = (more: Partial<SchedulerJob>): SchedulerJob => ({
  scheduler: "slurm",
  cluster: "lab",
  id: "4711",
  name: "train",
  user: "ada",
  account: "vision",
  state: "running",
  stateText: "RUNNING",
  submitMs: startMs,
  startMs: startMs + 33_000,
  allocatedGpus: 1,
  allocations: [{ host: "node7", gpuIndexes: [0] }],
  ...more,
});

const report = (asOf: number, ...jobs: SchedulerJob[]): LedgerEntry => [
  "report",
  { scheduler: "slurm", cluster: "lab", asOfMs: startMs + asOf * 1_000, jobs },
];

test("a job of the scheduler holds its GPU exactly as long as the scheduler says, used or not", () => {
  const ledger = new Ledger();
  const ended = slurmJob({ state: "completed", endMs: startMs + 127_000 });
  const entries: LedgerEntry[] = [
    report(0),
    ...ticks(0, 60, []).map((one): LedgerEntry => ["ticks", [one]]),
    report(60, slurmJob({})),
    // Its processes use the GPU only for a while.
    ...ticks(70, 100, [owner("4711")]).map((one): LedgerEntry => ["ticks", [one]]),
    ...ticks(110, 200, []).map((one): LedgerEntry => ["ticks", [one]]),
    report(200, ended),
  ];
  const { jobs } = applyAll(ledger, entries);
  expect(jobs).toHaveLength(1);
  expect(jobs[0]).toMatchObject({
    id: `slurm:lab/4711@${startMs / 1_000}`,
    name: "train",
    account: "vision",
    scheduler: { state: "completed" },
    endMs: startMs + 127_000,
  });
  const stretch = stretchOf(jobs[0]);
  expect(stretch?.gpuSeconds).toBe(94);
  // From 60 to 110 s; before and after, it held a GPU that none of its processes used.
  expect([stretch?.usefulSeconds, stretch?.heldIdleSeconds]).toEqual([50, 44]);
});

test("processes of a later component of a heterogeneous job have the first one's id, and use its GPUs", () => {
  const ledger = new Ledger();
  const component = { id: "4712", hetJobId: "4711", startMs, allocatedGpus: 2 } as const;
  const allocations = [{ host: "node7", gpuIndexes: [0, 1] }];
  const endMs = startMs + 100_000;
  const { jobs } = applyAll(ledger, [
    report(0, slurmJob({ ...component, allocations })),
    ...ticks(0, 150, [owner("4711")]).map((one): LedgerEntry => ["ticks", [one]]),
    ...ticks(0, 150, [], { uuid: "GPU-2", gpu: 1 }).map((one): LedgerEntry => ["ticks", [one]]),
    report(150, slurmJob({ ...component, allocations, state: "completed", endMs })),
  ]);
  expect(jobs.map(({ id }) => id)).toEqual([`slurm:lab/4712@${startMs / 1_000}`]);
  expect(
    jobs[0]?.stretches.map((one) => [one.gpu, one.usefulSeconds, one.heldIdleSeconds]),
  ).toEqual([
    [0, 100, 0],
    [1, 0, 100],
  ]);
  expect(jobs[0]?.stretches.every(({ neighbours }) => neighbours.length === 0)).toBe(true);
});

test("a job with MIG instances, which have no GPU index, holds the GPU that its processes use", () => {
  const ledger = new Ledger();
  const allocations = [{ host: "node7", gpuCount: 1 }];
  const endMs = startMs + 100_000;
  const [first, second] = ["4711", "4712"].map((id) => slurmJob({ id, startMs, allocations }));
  const ends = [first, second].map((job) => slurmJob({ ...job, state: "completed", endMs }));
  const both = [owner("4711", { utilizationRatio: 0.6 }), owner("4712", { utilizationRatio: 0.2 })];
  const { jobs } = applyAll(ledger, [
    report(0, ...[first, second].flatMap((job) => job ?? [])),
    ...ticks(0, 100, both).map((one): LedgerEntry => ["ticks", [one]]),
    ...ticks(110, 150, []).map((one): LedgerEntry => ["ticks", [one]]),
    report(150, ...ends),
  ]);
  expect(jobs.map(({ name, stretches }) => [name, stretches.length])).toEqual([
    ["train", 1],
    ["train", 1],
  ]);
  const joules = jobs.map((job) => Math.round(stretchOf(job)?.joules ?? 0));
  expect(joules).toEqual([7_500, 2_500]);
  expect(jobs.map((job) => stretchOf(job)?.neighbours)).toEqual(
    jobs.map(({ id }) => jobs.flatMap((other) => (other.id === id ? [] : [other.id]))),
  );
});

test("a requeued job and an id that is used again are attempts of their own", () => {
  const ledger = new Ledger();
  const first = slurmJob({ state: "requeued", endMs: startMs + 60_000 });
  const second = slurmJob({
    submitMs: startMs + 60_000,
    startMs: startMs + 70_000,
    restartCount: 1,
    state: "completed",
    endMs: startMs + 90_000,
  });
  const { jobs } = applyAll(ledger, [
    report(0),
    ...ticks(0, 120, [owner("4711")]).map((one): LedgerEntry => ["ticks", [one]]),
    report(120, first, second),
  ]);
  expect(jobs.map(({ stretches }) => stretches[0]?.gpuSeconds)).toEqual([27, 20]);
  expect(new Set(jobs.map(({ id }) => id)).size).toBe(2);
});

test("while a controller is down intervals wait, then they are booked by what was seen", () => {
  const ledger = new Ledger({ maxHoldMs: 100_000 });
  applyAll(ledger, [
    report(0),
    ...ticks(0, 300, [owner("4711")]).map((one): LedgerEntry => ["ticks", [one]]),
  ]);
  const [book] = ledger.openBooks();
  expect(book?.gaps.scheduler_pending?.seconds).toBe(100);
  expect(openOf(ledger)).toMatchObject([{ key: "slurm:4711" }]);
  // The scheduler is back: the job continues under the scheduler's id, with the usage assigned so far.
  applyAll(ledger, [report(300, slurmJob({ startMs }))]);
  expect(openOf(ledger)).toMatchObject([
    { id: `slurm:lab/4711@${startMs / 1_000}`, account: "vision" },
  ]);
  expect(stretchOf(openOf(ledger)[0])?.gpuSeconds).toBe(300);
});

test("a job on a machine without an agent is recorded as the scheduler reports it, not observed", () => {
  const ledger = new Ledger();
  const elsewhere = slurmJob({
    state: "failed",
    endMs: startMs + 60_000,
    allocations: [{ host: "elsewhere", gpuIndexes: [0] }],
  });
  const { jobs } = applyAll(ledger, [report(100, elsewhere), ["clock", startMs + 2 * 86_400_000]]);
  expect(jobs).toMatchObject([{ end: "expired", stretches: [], scheduler: { state: "failed" } }]);
});

test("a job that no listing showed has its GPU-seconds from accounting, and nothing else is claimed", () => {
  const ledger = new Ledger();
  const short = slurmJob({
    state: "completed",
    allocatedGpus: 4,
    startMs: startMs + 3_590_000,
    endMs: startMs + 3_620_000,
    allocations: [{ host: "node7" }],
  });
  const output = applyAll(ledger, [report(100, short), ["clock", startMs + 2 * 86_400_000]]);
  expect(output.jobs).toMatchObject([{ stretches: [], unplacedGpuSeconds: 120 }]);
  expect(output.parts.flatMap(({ part }) => part.hours)).toEqual([
    [startMs / 3_600_000, 40, 0, 0, 0],
    [startMs / 3_600_000 + 1, 80, 0, 0, 0],
  ]);
});

test("a job of which one of two machines has an agent has the other's GPU-seconds from the scheduler", () => {
  const ledger = new Ledger();
  const allocations = [
    { host: "node7", gpuIndexes: [0] },
    { host: "elsewhere", gpuIndexes: [0] },
  ];
  const wide = { allocatedGpus: 2, startMs: startMs + 10_000, allocations };
  const { jobs } = applyAll(ledger, [
    report(0, slurmJob(wide)),
    ["ticks", ticks(0, 100, [])],
    report(100, slurmJob({ ...wide, state: "completed", endMs: startMs + 70_000 })),
    ["clock", startMs + 2 * 86_400_000],
  ]);
  expect(jobs).toMatchObject([{ stretches: [{ gpuSeconds: 60 }], unplacedGpuSeconds: 60 }]);
});

test("a job whose machine fell silent stays open for a day, then it has expired", () => {
  const ledger = new Ledger();
  feed(ledger, ticks(0, 100, [owner("1")]));
  expect(ledger.apply(["clock", startMs + 3_600_000]).jobs).toEqual([]);
  expect(ledger.apply(["clock", startMs + 90_000_000]).jobs).toMatchObject([{ end: "expired" }]);
  expect(ledger.openCount).toBe(0);
});

test("more jobs than the limit are booked as such, and nothing is lost of the energy", () => {
  const ledger = new Ledger({ maxOpenJobs: 1 });
  feed(ledger, ticks(0, 50, [owner("1")]));
  feed(ledger, ticks(60, 100, [owner("2")]));
  expect(ledger.isFull).toBe(true);
  const [book] = ledger.openBooks();
  expect(book?.gaps.too_many_jobs?.joules).toBe(4_500);
  expect(book && bookError(book)).toBe(0);
});

test("a service that runs for weeks hands over its days as they pass", () => {
  const ledger = new Ledger({ gapMs: 7_200_000 });
  const hourly: GpuTick[] = [];
  for (let hour = 0; hour <= 24 * 10; hour++) hourly.push(tick(hour * 3_600, [owner("job:api")]));
  const { parts, jobs } = feed(ledger, hourly);
  expect(jobs).toEqual([]);
  const held = [...ledger.openJobs()][0]?.hours() ?? [];
  const written = parts.flatMap(({ part }) => part.hours);
  const total = [...held, ...written].reduce((sum, [, seconds]) => sum + seconds, 0);
  expect(total).toBe(10 * 86_400);
  expect(held.length).toBeLessThanOrEqual(72);
});
