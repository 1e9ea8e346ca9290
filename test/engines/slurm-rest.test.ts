// Jobs of a real Slurm, read from a real slurmrestd with a JSON Web Token; this hub has neither Slurm's commands nor slurm.conf.

import { readFileSync, writeFileSync } from "node:fs";

import { expect, test } from "vitest";

import { waitUntil } from "../../engines/wait.ts";
import {
  accounted,
  listedJobs,
  newToken,
  testGpuSeconds,
  untilEnded,
  untilRunning,
  useSlurmLab,
} from "./slurm-lab.ts";

const lab = useSlurmLab({ rest: true });

test(
  "completed, requeued and cancelled jobs have their GPUs, and accounting's processor time and memory",
  { timeout: 240_000 },
  async () => {
    const { slurm } = lab();
    const work = [
      'python3 -c "import time; x = bytearray(150_000_000)',
      'while time.process_time() < 3: pass"',
      "sleep 6",
    ].join("\n");
    const train = await slurm.submit(work, "-J", "train", "-w", "n1", "--gres=gpu:2");
    const requeued = await slurm.submit("sleep 20", "-J", "again", "-w", "n2", "--gres=gpu:1");
    const cancelled = await slurm.submit("sleep 100", "-J", "off", "-w", "n3", "--gres=gpu:4");
    const sweep = ["-J", "sweep", "-w", "n4", "--gres=gpu:1", "--array=0-9%2"];
    const array = await slurm.submit("sleep 6", ...sweep);
    for (const id of [train, requeued, cancelled]) await untilRunning(lab(), id);
    await waitUntil({ what: "the ledger to have them", timeoutMs: 60_000 }, async () => {
      const { jobs, problems } = await listedJobs(lab());
      const names = new Set(jobs.map(({ name }) => name));
      if (["train", "again", "off", "sweep"].every((name) => names.has(name))) return true;
      throw new Error(`it has ${[...names].join(", ")}; problems: ${problems.join("; ")}`);
    });
    expect((await listedJobs(lab())).problems).toEqual([]);
    await slurm.client("scontrol", "requeue", requeued);
    await slurm.client("scancel", cancelled);

    const [job] = await untilEnded(lab(), train);
    expect(job).toMatchObject({ key: `slurm:lab/${train}`, user: "root" });
    expect(job?.scheduler).toMatchObject({ state: "completed", requestedGpus: 2, exitCode: 0 });
    expect(job?.stretches.map(({ gpu }) => gpu).sort()).toEqual([0, 1]);
    const line = (await accounted(slurm)).find(({ id }) => id === train);
    expect(line?.cpuSeconds).toBeGreaterThan(2);
    const { cpuSeconds = 0, peakMemoryBytes = 0 } = job?.scheduler ?? {};
    expect(Math.abs(cpuSeconds / (line?.cpuSeconds ?? 1) - 1)).toBeLessThan(0.01);
    expect(Math.abs(peakMemoryBytes / (line?.peakMemoryBytes ?? 1) - 1)).toBeLessThan(0.01);

    const attempts = await untilEnded(lab(), requeued, 2);
    expect(attempts.map(({ scheduler }) => scheduler?.state ?? "").sort()).toEqual([
      "completed",
      "requeued",
    ]);
    const [ended] = await untilEnded(lab(), cancelled);
    expect(ended?.scheduler?.state).toBe("cancelled");
    expect(ended?.stretches.map(({ gpu }) => gpu).sort()).toEqual([0, 1, 2, 3]);
    await slurm.client("scancel", array);
  },
);

test(
  "a refused token is a problem that names the settings, and ends with the next token",
  { timeout: 120_000 },
  async () => {
    const { tokenFile, slurm } = lab();
    writeFileSync(tokenFile, `${readFileSync(tokenFile, "utf8").trim()}x\n`);
    const refused = await waitUntil({ what: "a problem", timeoutMs: 60_000 }, async () =>
      (await listedJobs(lab())).problems.find((problem) => problem.includes("slurmrestd")),
    );
    expect(refused).toContain("the token has expired or is not its own: check slurm_token_file");
    writeFileSync(tokenFile, await newToken(slurm));
    await waitUntil({ what: "no problem", timeoutMs: 90_000 }, async () =>
      (await listedJobs(lab())).problems.length === 0 ? true : undefined,
    );
  },
);

testGpuSeconds(lab, 4);
