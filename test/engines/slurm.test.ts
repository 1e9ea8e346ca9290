// Jobs of a real Slurm through agents and hub into the ledger: submit, requeue, cancel, a lost node. The ledger's
// entries are compared with sacct's output.

import { expect, test } from "vitest";

import { waitUntil } from "../../engines/wait.ts";
import {
  accounted,
  listedJobs,
  untilEnded,
  testGpuSeconds,
  untilRunning,
  useSlurmLab,
} from "./slurm-lab.ts";

const lab = useSlurmLab();
const hold = (seconds: number): string => `sleep ${seconds}`;

test(
  "a GPU that was allocated and not touched is held idle; processor time and memory are sacct's",
  { timeout: 180_000 },
  async () => {
    const work = [
      'echo $$ > "pid-$SLURM_JOB_ID"',
      'python3 -c "import time; x = bytearray(150_000_000)',
      'while time.process_time() < 3: pass"',
      hold(6),
    ].join("\n");
    const id = await lab().slurm.submit(work, "-J", "train", "-w", "n1", "--gres=gpu:2");
    const pid = await lab().pidOf(id);
    lab().script("n1", `process 0 ${pid} 8000000000 C`, "0.utilization 90");
    await untilRunning(lab(), id);
    const [job] = await untilEnded(lab(), id);
    lab().script("n1");
    expect(job).toMatchObject({ name: "train", user: "root", kind: "slurm" });
    expect(job?.scheduler).toMatchObject({ state: "completed", requestedGpus: 2, exitCode: 0 });
    const [used, untouched] = (job?.stretches ?? []).toSorted((one, two) => one.gpu - two.gpu);
    expect([used?.gpu, untouched?.gpu]).toEqual([0, 1]);
    expect(used?.usefulSeconds).toBeGreaterThan(0);
    expect(untouched?.usefulSeconds).toBe(0);
    expect(untouched?.heldIdleSeconds).toBeCloseTo(untouched?.gpuSeconds ?? -1, 3);
    const report = await lab().reportOf(id);
    expect(report).toContain("State: COMPLETED");
    expect(report).toMatch(/^CPU Efficiency: [\d.]+ %/m);
    expect(report).toContain("Held 2 GPUs, used 1");
    const line = (await accounted(lab().slurm)).find((one) => one.id === id);
    expect(line?.cpuSeconds).toBeGreaterThan(2);
    expect(Math.abs((job?.scheduler?.cpuSeconds ?? 0) / (line?.cpuSeconds ?? 1) - 1)).toBeLessThan(
      0.01,
    );
    expect(
      Math.abs((job?.scheduler?.peakMemoryBytes ?? 0) / (line?.peakMemoryBytes ?? 1) - 1),
    ).toBeLessThan(0.01);
  },
);

test(
  "requeue, cancel, a lost node and two nodes: each attempt ends as Slurm says",
  { timeout: 240_000 },
  async () => {
    const { slurm } = lab();
    const requeued = await slurm.submit(hold(20), "-J", "requeued", "-w", "n2", "--gres=gpu:1");
    const cancelled = await slurm.submit(hold(100), "-J", "cancelled", "-w", "n3", "--gres=gpu:4");
    const lostOptions = ["-J", "lost", "-w", "n4", "--gres=gpu:2", "--no-requeue"];
    const lost = await slurm.submit(hold(100), ...lostOptions);
    const wide = await slurm.submit(hold(5), "-J", "wide", "-N2", "-w", "n1,n2", "--gres=gpu:2");
    for (const id of [requeued, cancelled, lost, wide]) await untilRunning(lab(), id);
    await waitUntil({ what: "the ledger to have them", timeoutMs: 60_000 }, async () => {
      const names = new Set((await listedJobs(lab())).jobs.map(({ name }) => name));
      return (
        ["requeued", "cancelled", "lost", "wide"].every((name) => names.has(name)) || undefined
      );
    });
    await slurm.client("scontrol", "requeue", requeued);
    await slurm.client("scancel", cancelled);
    await slurm.killNode("n4");
    const states = new Map<string, string[]>();
    for (const [id, attempts] of [
      [requeued, 2],
      [cancelled, 1],
      [lost, 1],
      [wide, 1],
    ] as const)
      states.set(
        id,
        (await untilEnded(lab(), id, attempts))
          .map(({ scheduler }) => scheduler?.state ?? "")
          .sort(),
      );
    expect(states.get(requeued)).toEqual(["completed", "requeued"]);
    expect(states.get(cancelled)).toEqual(["cancelled"]);
    expect(states.get(lost)).toEqual(["node_failed"]);
    expect(states.get(wide)).toEqual(["completed"]);
    await slurm.startNode("n4");
  },
);

testGpuSeconds(lab, 5);
