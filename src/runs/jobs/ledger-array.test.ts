import { expect, test } from "vitest";
import type { SchedulerJob } from "../../model/scheduler-job.ts";
import { Ledger } from "./ledger.ts";

const startMs = Date.UTC(2026, 10, 18, 12);
const tasks = 100_000;
const perListing = 5_000;

const taskOf = (task: number): SchedulerJob => ({
  scheduler: "slurm",
  cluster: "lab",
  id: String(10_000 + task),
  name: "sweep",
  arrayJobId: "9000",
  arrayTaskId: task,
  state: "completed",
  stateText: "COMPLETED",
  submitMs: startMs,
  startMs: startMs + task,
  endMs: startMs + task + 1_000,
  allocatedGpus: 1,
  allocations: [{ host: "elsewhere", gpuIndexes: [0] }],
});

test("an array of 100,000 tasks has a record for each, and waiting tasks have none", () => {
  const ledger = new Ledger();
  const ids = new Set<string>();
  const list = (jobs: readonly SchedulerJob[]): void => {
    const entry = { scheduler: "slurm", cluster: "lab", asOfMs: startMs + 200_000, jobs } as const;
    for (const { id } of ledger.apply(["report", entry]).jobs) ids.add(id);
  };
  const { startMs: _, endMs: __, arrayTaskId: ___, ...first } = taskOf(0);
  list([{ ...first, id: "9000", arrayTasksWaiting: "0-99999", state: "waiting", allocations: [] }]);
  expect(ledger.openCount).toBe(0);
  for (let from = 0; from < tasks; from += perListing)
    list(Array.from({ length: perListing }, (_value, at) => taskOf(from + at)));
  for (const { id } of ledger.apply(["clock", startMs + 2 * 86_400_000]).jobs) ids.add(id);
  expect(ids.size).toBe(tasks);
  expect(ledger.openCount).toBe(0);
});
