// Harder cases for Slurm: a controller that is down while the hub is killed, an array of 100,000 tasks, a heterogeneous job.

import { readFileSync } from "node:fs";
import path from "node:path";

import { expect, test } from "vitest";

import { waitUntil } from "../../engines/wait.ts";
import {
  endedJobs,
  listedJobs,
  untilEnded,
  testGpuSeconds,
  untilRunning,
  useSlurmLab,
} from "./slurm-lab.ts";

const lab = useSlurmLab();
const hold = (seconds: number): string => `sleep ${seconds}`;

test(
  "the controller is down: the hub says so, survives a kill meanwhile, and books what ended",
  { timeout: 240_000 },
  async () => {
    const { slurm } = lab();
    const id = await slurm.submit(hold(12), "-J", "unwatched", "-w", "n3", "--gres=gpu:3");
    await untilRunning(lab(), id);
    await waitUntil({ what: "the ledger to have it", timeoutMs: 60_000 }, async () =>
      (await listedJobs(lab())).jobs.find(({ name }) => name === "unwatched"),
    );
    await slurm.stopController();
    await waitUntil({ what: "the problem to be there", timeoutMs: 90_000 }, async () =>
      (await listedJobs(lab())).problems.find((problem) =>
        problem.startsWith("slurm:lab: Slurm reported: Failed"),
      ),
    );
    await lab().killHub();
    await slurm.startController();
    await lab().restartHub();
    const [job] = await untilEnded(lab(), id);
    expect(job?.scheduler?.state).toBe("completed");
    expect(job?.stretches.map(({ gpu }) => gpu).sort()).toEqual([0, 1, 2]);
    expect((await listedJobs(lab())).problems).toEqual([]);
  },
);

test(
  "an array of 100,000 tasks: those that ran are jobs, those that wait are none",
  { timeout: 180_000 },
  async () => {
    const { slurm } = lab();
    const options = ["-J", "sweep", "-w", "n1", "--gres=gpu:1", "--array=0-99999%2"];
    // A task shorter than the time between two listings would have no GPU indexes (docs/guides/slurm.md).
    const array = await slurm.submit(hold(6), ...options);
    await waitUntil({ what: "three tasks to end", timeoutMs: 90_000 }, async () => {
      const jobs = (await endedJobs(lab())).filter(({ name }) => name === "sweep");
      return jobs.length >= 3 ? true : undefined;
    });
    await slurm.client("scancel", array);
    await waitUntil({ what: "the array to end", timeoutMs: 60_000 }, async () =>
      (await listedJobs(lab())).jobs.every(({ state }) => state !== "running") ? true : undefined,
    );
    const tasks = (await endedJobs(lab())).filter(({ name }) => name === "sweep");
    expect(tasks.length).toBeLessThan(50);
    expect(tasks.every(({ scheduler }) => scheduler?.arrayJobId === array)).toBe(true);
  },
);

test(
  "a heterogeneous job: each component holds its own GPUs, which processes of the first one's id use",
  { timeout: 240_000 },
  async () => {
    const { slurm } = lab();
    const step = 'echo $$ > "pid-het-$SLURMD_NODENAME"; echo "$SLURM_JOB_ID" > "id-het"; sleep 30';
    const first = ["-J", "het", "-w", "n1", "--gres=gpu:1"];
    const second = ["-w", "n2", "--gres=gpu:2"];
    const work = `srun --het-group=0,1 bash -c '${step}'`;
    const id = await slurm.submit(work, ...first, ":", ...second);
    const pid = await waitUntil({ what: "the step on n2", timeoutMs: 90_000 }, async () => {
      const found = Number(readFileSync(path.join(slurm.folder, "pid-het-n2"), "utf8"));
      return found > 0 ? found : undefined;
    });
    expect(readFileSync(path.join(slurm.folder, "id-het"), "utf8").trim()).toBe(id);
    lab().script("n2", `process 0 ${pid} 8000000000 C`, "0.utilization 90");
    const own = Number(id);
    const [job] = await untilEnded(lab(), String(own + 1));
    lab().script("n2");
    const stretches = (job?.stretches ?? []).toSorted((one, two) => one.gpu - two.gpu);
    expect(stretches.map(({ host, gpu }) => [host, gpu])).toEqual([
      ["n2", 0],
      ["n2", 1],
    ]);
    expect(stretches[0]?.usefulSeconds).toBeGreaterThan(10);
    expect(stretches[1]?.usefulSeconds).toBe(0);
    expect(stretches.flatMap(({ neighbours }) => neighbours)).toEqual([]);
    const [leader] = await untilEnded(lab(), id);
    expect(leader?.stretches.map(({ host }) => host)).toEqual(["n1"]);
  },
);

test(
  "a controller that lost its state gives the same id to another job: both are in the ledger",
  { timeout: 240_000 },
  async () => {
    const { slurm } = lab();
    const options = ["-w", "n2", "--gres=gpu:1"];
    // Ids begin at 1, which an earlier test used.
    const before = (await endedJobs(lab())).find(({ scheduler }) => scheduler?.id === "1");
    expect(before?.name).toBe("unwatched");
    await slurm.stopController();
    await slurm.resetController();
    await waitUntil({ what: "node n2 to be idle", timeoutMs: 60_000 }, async () =>
      (await slurm.client("sinfo", "-h", "-N", "-n", "n2", "-o", "%T")).trim() === "idle"
        ? true
        : undefined,
    );
    const id = await slurm.submit(hold(6), "-J", "second", ...options);
    expect(id).toBe("1");
    const both = await untilEnded(lab(), id, 2);
    expect(both.map(({ name }) => name).sort()).toEqual(["second", "unwatched"]);
    expect(both.find(({ name }) => name === "unwatched")).toEqual(before);
    expect(new Set(both.map((job) => job.id)).size).toBe(2);
  },
);

testGpuSeconds(lab, 4);
