import { describe, expect, test } from "vitest";

import { silentLog } from "../../../base/log.ts";
import type { SchedulerJob } from "../../../model/scheduler-job.ts";
import type { SchedulerReport } from "../directory.ts";
import { type SlurmClient, SlurmCommands, SlurmUnavailableError } from "./commands.ts";
import { SlurmDirectory } from "./directory.ts";
import { SlurmTracker } from "./tracker.ts";

const running: SchedulerJob = {
  scheduler: "slurm",
  cluster: "lab",
  id: "7",
  state: "running",
  stateText: "RUNNING",
  submitMs: 100_000,
  startMs: 110_000,
  allocatedGpus: 2,
  allocations: [{ host: "n1", gpuCount: 2, gpuIndexes: [0, 3] }],
};
/** The job as the controller lists it after its end: without the GPU indexes. */
const ended: SchedulerJob = {
  ...running,
  state: "completed",
  stateText: "COMPLETED",
  endMs: 150_000,
  allocations: [{ host: "n1" }],
};
const recorded: SchedulerJob = { ...ended, cpuSeconds: 12.5, peakMemoryBytes: 1_000 };

describe("what the ledger is given", () => {
  test("an end comes with the GPUs of the running job and the processor time of accounting", () => {
    const tracker = new SlurmTracker("lab", 0);
    expect(tracker.list([running], 120_000)).toEqual([]);
    expect(tracker.report([], 120_000)).toEqual({
      scheduler: "slurm",
      cluster: "lab",
      asOfMs: 120_000,
      jobs: [running],
    });
    expect(tracker.list([ended], 160_000)).toEqual(["7"]);
    expect(tracker.report([recorded], 160_000).jobs).toEqual([
      { ...recorded, allocations: [{ host: "n1", gpuCount: 2, gpuIndexes: [0, 3] }] },
    ]);
  });

  test("nodes that are clean before others, or all of them, are no longer listed: they were held all the same", () => {
    const wide = [...(running.allocations ?? []), { host: "n2", gpuCount: 1, gpuIndexes: [1] }];
    for (const stillListed of [[], [{ host: "n2" }]]) {
      const tracker = new SlurmTracker("lab", 0);
      tracker.list([{ ...running, allocations: wide }], 120_000);
      tracker.report([], 120_000);
      const completing = { ...ended, state: "ended", stateText: "COMPLETING" } as const;
      tracker.list([{ ...completing, allocations: stillListed }], 151_000);
      const { jobs } = tracker.report([{ ...recorded, allocations: [{ host: "n1" }] }], 151_000);
      expect(jobs).toMatchObject([{ state: "completed", allocations: wide }]);
    }
  });

  test("a running job that gave nodes back holds what is listed", () => {
    const tracker = new SlurmTracker("lab", 0);
    const wide = [...(running.allocations ?? []), { host: "n2", gpuCount: 1, gpuIndexes: [1] }];
    tracker.list([{ ...running, allocations: wide }], 120_000);
    tracker.report([], 120_000);
    tracker.list([running], 130_000);
    expect(tracker.report([], 130_000).jobs).toEqual([running]);
  });

  test("an end is reported once, however long the controller lists it", () => {
    const tracker = new SlurmTracker("lab", 0);
    tracker.list([ended], 160_000);
    expect(tracker.report([recorded], 160_000).jobs.length).toBe(1);
    expect(tracker.list([ended], 170_000)).toEqual([]);
    expect(tracker.report([], 170_000).jobs).toEqual([]);
  });

  test("an unchanged job is not repeated", () => {
    const tracker = new SlurmTracker("lab", 0);
    tracker.list([running], 120_000);
    tracker.report([], 120_000);
    tracker.list([{ ...running }], 130_000);
    expect(tracker.report([], 130_000).jobs).toEqual([]);
  });

  test("until accounting has the end, the report is complete only up to that end", () => {
    const tracker = new SlurmTracker("lab", 0);
    tracker.list([ended], 160_000);
    expect(tracker.report([running], 160_000)).toMatchObject({ asOfMs: 150_000, jobs: [] });
    expect(tracker.list([ended], 170_000)).toEqual(["7"]);
    expect(tracker.report([recorded], 170_000)).toMatchObject({ asOfMs: 170_000 });
  });

  test("accounting that never has the end is not waited for without bound", () => {
    const tracker = new SlurmTracker("lab", 0);
    const reports = Array.from({ length: 8 }, (_, poll) => {
      tracker.list([ended], 160_000 + poll);
      return tracker.report([], 160_000 + poll);
    });
    const [report, ...more] = reports.filter(({ jobs }) => jobs.length > 0);
    expect(more).toEqual([]);
    expect(report?.jobs[0]).not.toHaveProperty("cpuSeconds");
  });

  test("without accounting an end is reported at once, without processor time", () => {
    const tracker = new SlurmTracker("lab", 0);
    tracker.list([ended], 160_000);
    expect(tracker.report(undefined, 160_000).jobs).toEqual([ended]);
  });

  test("a requeued job ends when its next attempt was submitted, and the next one is another job", () => {
    const tracker = new SlurmTracker("lab", 0);
    tracker.list([running], 120_000);
    tracker.report([], 120_000);
    const again = { ...running, submitMs: 130_000, restartCount: 1 };
    tracker.list([{ ...again, state: "waiting" }], 135_000);
    expect(tracker.report(undefined, 135_000).jobs).toMatchObject([
      { submitMs: 100_000, state: "requeued", endMs: 130_000 },
    ]);
    tracker.list([{ ...again, startMs: 140_000 }], 145_000);
    expect(tracker.report([], 145_000).jobs).toMatchObject([
      { submitMs: 130_000, state: "running", restartCount: 1 },
    ]);
  });

  test("an id that is used again after a reset of the controller is another job", () => {
    const tracker = new SlurmTracker("lab", 0);
    tracker.list([running], 120_000);
    tracker.report([], 120_000);
    const other = { ...running, name: "other", submitMs: 500_000, startMs: 500_000 };
    tracker.list([other], 510_000);
    const { jobs } = tracker.report([], 510_000);
    expect(jobs).toMatchObject([{ name: "other", submitMs: 500_000 }]);
  });

  test("a job that the controller lost says that its end is not known", () => {
    const tracker = new SlurmTracker("lab", 0);
    tracker.list([running], 120_000);
    tracker.report([], 120_000);
    tracker.list([], 200_000);
    expect(tracker.report(undefined, 200_000).jobs).toMatchObject([
      { state: "ended", stateText: "UNKNOWN", endMs: 120_000 },
    ]);
  });

  test("after a restart: open jobs end, closed ones do not come again, unseen ones are filled in", () => {
    const earlier = [running];
    const tracker = new SlurmTracker("lab", 140_000, earlier);
    const closed = { ...ended, id: "6", endMs: 139_000 };
    expect(tracker.list([ended, closed], 400_000)).toEqual(["7"]);
    tracker.addUnseen([closed, { ...ended, id: "8" }]);
    const { jobs } = tracker.report([recorded], 400_000);
    expect(jobs.map(({ id }) => id)).toEqual(["7", "8"]);
    expect(jobs[0]).toMatchObject({
      cpuSeconds: 12.5,
      allocations: [{ gpuIndexes: [0, 3] }],
    });
  });

  test("jobs of another cluster are not ours", () => {
    const tracker = new SlurmTracker("lab", 0);
    tracker.list([{ ...running, cluster: "other" }], 120_000);
    expect(tracker.report([], 120_000).jobs).toEqual([]);
  });
});

describe("a controller that fails", () => {
  const listing = (...jobs: readonly unknown[]): string => JSON.stringify({ jobs, errors: [] });
  const client = (queue: () => string): SlurmClient => ({
    cluster: async () => "lab",
    queue: async () => queue(),
    recordsOf: async () => listing(),
    endedSince: async () => listing(),
  });
  const firstReports = async (directory: SlurmDirectory, count: number) => {
    const reports: SchedulerReport[] = [];
    await new Promise<void>((resolve) => {
      directory.subscribe((report) => reports.push(report) >= count && resolve());
    });
    await directory.close();
    return reports;
  };
  const options = { intervalMs: 1, log: silentLog, nowMs: () => 1_000_000, random: () => 0 };

  test("it is down, and then it answers: the problem is there meanwhile, and nothing is reported", async () => {
    let answers = 0;
    const problems: (string | undefined)[] = [];
    const directory: SlurmDirectory = new SlurmDirectory({
      ...options,
      client: client(() => {
        problems.push(directory.problem);
        if (++answers < 3) throw new SlurmUnavailableError("squeue failed: Unable to contact");
        return listing();
      }),
    });
    const [report] = await firstReports(directory, 1);
    expect(problems).toEqual([
      "Slurm has not been queried yet",
      "squeue failed: Unable to contact",
      "squeue failed: Unable to contact",
    ]);
    expect(report).toEqual({ scheduler: "slurm", cluster: "lab", asOfMs: 997_000, jobs: [] });
    expect(directory.problem).toBeUndefined();
  });

  test("its clock is ahead of ours: its jobs count, and the problem says so", async () => {
    const job = { job_id: 1, job_state: "RUNNING", nodes: "n1", gres_detail: ["gpu:1(IDX:0)"] };
    const directory = new SlurmDirectory({
      ...options,
      client: client(() => listing({ ...job, submit_time: 1_090, start_time: 1_090 })),
    });
    const [report] = await firstReports(directory, 1);
    expect(report?.jobs.length).toBe(1);
    expect(directory.problem).toContain("90 s ahead");
  });

  test("accounting is off: ends are reported, and the problem says what is missing", async () => {
    const job = { job_id: 1, nodes: "n1", tres_alloc_str: "gres/gpu=1", submit_time: 900 };
    let asked = 0;
    const directory = new SlurmDirectory({
      ...options,
      client: {
        ...client(() =>
          listing(
            asked++ === 0
              ? { ...job, job_state: "RUNNING", start_time: 900 }
              : { ...job, job_state: "COMPLETED", start_time: 900, end_time: 999 },
          ),
        ),
        recordsOf: async () => {
          throw new SlurmUnavailableError("sacct failed: Slurm accounting storage is disabled");
        },
      },
    });
    const reports = await firstReports(directory, 2);
    expect(reports[1]?.jobs).toMatchObject([{ state: "completed", endMs: 999_000 }]);
    expect(directory.problem).toContain("accounting storage is disabled");
  });

  test("a command that is not installed is an error that says what to install", async () => {
    const commands = new SlurmCommands({ env: { PATH: "/nowhere" } });
    await expect(commands.queue()).rejects.toThrow("squeue is not installed");
  });
});
