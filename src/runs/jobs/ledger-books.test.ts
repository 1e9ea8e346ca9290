/** Random stories with clock jumps, resets, changed meters, repeated ticks and a scheduler: the books close all the same. */
import { expect, test } from "vitest";
import type { SchedulerJob } from "../../model/scheduler-job.ts";
import { isClosed } from "./day-books.ts";
import { Ledger, type LedgerEntry } from "./ledger.ts";
import type { GpuDayBook, JobRecord, LedgerOutput } from "./record.ts";
import type { GpuTick, TickOwner } from "./tick.ts";

interface StoryOptions {
  readonly seed: number;
  readonly hasScheduler: boolean;
  /** The probability that a tick's clock was set back by up to an hour. */
  readonly setBack: number;
}

/** A linear congruential generator, from 0 to below 1. */
function random(seed: number): () => number {
  let state = Math.imul(seed, 2_654_435_761) >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Three GPUs around midnight. */
function story({ seed, hasScheduler, setBack }: StoryOptions): LedgerEntry[] {
  const next = random(seed);
  const below = (bound: number): number => Math.floor(next() * bound);
  const entries: LedgerEntry[] = [];
  const running = new Map<string, SchedulerJob>();
  let submitted = 0;
  const owner = (): TickOwner => ({
    labels: { workload: String(below(submitted + 2)), user: "ada" },
    utilizationRatio: next(),
    ...(next() < 0.5 && { memoryBytes: below(1e9) }),
  });
  const gpus = [0, 1, 2].map((gpu) => ({
    gpu,
    timeMs: Date.UTC(2026, 10, 18, 23, 30),
    joules: 1_000,
    isHardware: true,
    owners: [] as TickOwner[],
  }));
  for (let round = 0; round < 200; round++) {
    for (const of of gpus) {
      const kind = next();
      if (kind < setBack) of.timeMs -= below(3_600_000);
      else of.timeMs += kind > 0.98 ? below(90_000_000) : 1 + below(30_000);
      of.joules = next() < 0.02 ? below(10_000) : of.joules + below(3_000);
      if (next() < 0.01) of.isHardware = !of.isHardware;
      if (next() < 0.15) of.owners = Array.from({ length: below(3) }, owner);
      const tick: GpuTick = {
        uuid: `GPU-${of.gpu}`,
        host: "node7",
        gpu: of.gpu,
        model: "H200",
        simulated: false,
        timeMs: of.timeMs,
        joules: of.joules,
        meter: of.isHardware ? "hardware" : "integrated",
        ...(next() < 0.9 && { activityRatio: next() < 0.3 ? 0 : next() }),
        ...(next() < 0.95 && { owners: of.owners }),
      };
      entries.push(["ticks", next() < 0.05 ? [tick, tick] : [tick]]);
    }
    const nowMs = Math.max(...gpus.map(({ timeMs }) => timeMs));
    if (next() < 0.02) entries.push(["clock", nowMs]);
    if (!hasScheduler || next() < 0.7) continue;
    if (next() < 0.4) {
      const gpuIndexes = next() < 0.7 ? { gpuIndexes: [below(4)] } : {};
      running.set(String(++submitted), {
        scheduler: "slurm",
        id: String(submitted),
        state: "running",
        stateText: "RUNNING",
        submitMs: nowMs - 60_000,
        startMs: nowMs - below(60_000),
        allocatedGpus: 1,
        allocations: [{ host: "node7", gpuCount: 1, ...gpuIndexes }],
      });
    }
    const jobs = [...running.values()].map((job): SchedulerJob => {
      if (next() > 0.2) return job;
      running.delete(job.id);
      return { ...job, state: "completed", stateText: "COMPLETED", endMs: nowMs - below(20_000) };
    });
    entries.push(["report", { scheduler: "slurm", asOfMs: nowMs - 3_000, jobs }]);
  }
  return entries;
}

interface BookedStory {
  readonly jobs: readonly JobRecord[];
  /** The last record of each GPU and day, as the day files have it. */
  readonly books: readonly GpuDayBook[];
  readonly hourJoules: number;
}

/** @param restartAt the entry before which another ledger continues from a snapshot */
function bookStory(entries: readonly LedgerEntry[], restartAt = -1): BookedStory {
  let ledger = new Ledger();
  const all: LedgerOutput = { jobs: [], parts: [], books: [] };
  const apply = (entry: LedgerEntry): void => {
    const { jobs, parts, books } = ledger.apply(entry);
    all.jobs.push(...jobs);
    all.parts.push(...parts);
    all.books.push(...books);
  };
  entries.forEach((entry, at) => {
    if (at === restartAt) {
      const snapshot = JSON.parse(JSON.stringify([...ledger.snapshot()])) as LedgerEntry[];
      ledger = new Ledger();
      for (const saved of snapshot) apply(saved);
    }
    apply(entry);
  });
  const open = [...ledger.openJobs()];
  const hours = [...all.parts.map(({ part }) => part.hours), ...open.map((job) => job.hours())];
  const books = [...all.books, ...ledger.openBooks()];
  return {
    jobs: [...all.jobs, ...open.map(({ record }) => record)],
    books: [...new Map(books.map((book) => [`${book.day} ${book.uuid}`, book])).values()],
    hourJoules: sum(hours.flat().map(([, , , , joules]) => joules)),
  };
}

const sum = (values: readonly number[]): number => values.reduce((one, two) => one + two, 0);

const stretchesOf = (jobs: readonly JobRecord[]) => jobs.flatMap(({ stretches }) => stretches);

const stories = [false, true].flatMap((hasScheduler) =>
  [0, 0.03].flatMap((setBack) =>
    [1, 2, 3, 4, 5].map((seed): StoryOptions => ({ seed, hasScheduler, setBack })),
  ),
);
// A job expires and is observed again in the second in which it started.
stories.push({ seed: 34, hasScheduler: true, setBack: 0.02 });

test.each(stories)(
  "the books of %j close, and jobs, hours and books have the same energy",
  (of) => {
    const { jobs, books, hourJoules } = bookStory(story(of));
    expect(books.filter((book) => !isClosed(book))).toEqual([]);
    const jobJoules = sum(books.map((book) => book.jobJoules));
    expect(sum(stretchesOf(jobs).map(({ joules }) => joules)) / jobJoules).toBeCloseTo(1, 9);
    expect(hourJoules / jobJoules).toBeCloseTo(1, 9);
    for (const { gpuSeconds, usefulSeconds, heldIdleSeconds, unknownSeconds } of stretchesOf(jobs))
      expect(usefulSeconds + heldIdleSeconds + unknownSeconds).toBeCloseTo(gpuSeconds, 3);
    expect(new Set(jobs.map(({ id }) => id)).size).toBe(jobs.length);
  },
);

test.each(stories)("a ledger that continues %j from a snapshot has the same jobs", (of) => {
  const entries = story(of);
  const figures = ({ jobs }: BookedStory) =>
    new Map(
      jobs.map((job) => [
        job.id,
        [job.startMs, job.endMs, sum(job.stretches.map(({ joules }) => joules)).toFixed(3)],
      ]),
    );
  expect(figures(bookStory(entries, 300 + of.seed * 50))).toEqual(figures(bookStory(entries)));
});

test("a job on a machine that is silent for days is not closed while its scheduler lists it", () => {
  const startMs = Date.UTC(2026, 10, 18);
  const hour = 3_600_000;
  const job = {
    scheduler: "slurm",
    id: "4711",
    state: "running",
    stateText: "RUNNING",
    submitMs: startMs,
    startMs,
    allocatedGpus: 1,
    allocations: [{ host: "node7", gpuIndexes: [0] }],
  } as const satisfies SchedulerJob;
  const tick = (timeMs: number): LedgerEntry => [
    "ticks",
    [
      {
        uuid: "GPU-1",
        host: "node7",
        gpu: 0,
        model: "H200",
        simulated: false,
        timeMs,
        joules: timeMs - startMs,
        meter: "hardware",
        owners: [],
      },
    ],
  ];
  const report = (asOfMs: number, one: SchedulerJob): LedgerEntry => [
    "report",
    { scheduler: "slurm", asOfMs, jobs: [one] },
  ];
  const endMs = startMs + 100 * hour;
  const { jobs } = bookStory([
    report(startMs, job),
    tick(startMs),
    tick(startMs + 30_000),
    report(startMs + 99 * hour, job),
    ["clock", startMs + 99 * hour],
    report(endMs, { ...job, state: "completed", stateText: "COMPLETED", endMs }),
    ["clock", endMs + 25 * hour],
  ]);
  expect(jobs).toHaveLength(1);
  const [{ stretches, unplacedGpuSeconds = 0 } = { stretches: [] }] = jobs;
  expect((stretches[0]?.gpuSeconds ?? 0) + unplacedGpuSeconds).toBe(100 * 3_600);
});
