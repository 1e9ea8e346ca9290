// The example queue for idle GPUs, started as its users do: webhooks come in, shell jobs run.

import { mkdirSync, mkdtempSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, expect, test } from "vitest";

import { runProcess, startProcess, type RunningProcess } from "../../engines/process.ts";
import { repository } from "../../engines/program.ts";
import { waitUntil } from "../../engines/wait.ts";

const script = path.join(repository, "deploy/examples/idle-queue/idle-queue.mjs");
const running: RunningProcess[] = [];
afterEach(async () => {
  for (const one of running.splice(0)) await one.stop();
});

interface Lab {
  readonly dir: string;
  /** Adds a job as the guide describes: complete when it appears. */
  job(name: string, text: string): void;
  list(folder: "waiting" | "running" | "done" | "failed"): string[];
  waitFor(folder: "running" | "done" | "failed", name: string): Promise<void>;
  start(env?: Record<string, string>): Promise<Queue>;
}

interface Queue {
  readonly process: RunningProcess;
  alert(uuid: string, vendor?: string, status?: "firing" | "resolved"): Promise<void>;
}

function openLab(): Lab {
  const dir = mkdtempSync(path.join(tmpdir(), "gpulse-idle-queue-"));
  for (const folder of ["waiting", "running", "done", "failed"])
    mkdirSync(path.join(dir, folder), { recursive: true });
  const list: Lab["list"] = (folder) =>
    readdirSync(path.join(dir, folder)).filter((name) => name.endsWith(".sh"));
  return {
    dir,
    list,
    job: (name, text) => writeFileSync(path.join(dir, "waiting", name), text),
    waitFor: async (folder, name) => {
      await waitUntil({ what: `${name} in ${folder}`, timeoutMs: 15_000 }, async () =>
        list(folder).includes(name) ? true : undefined,
      );
    },
    start: async (env = {}) => {
      const one = startProcess(
        process.execPath,
        [script, "--queue", dir, "--port", "0", "--restart-grace", "0", "--sysfs", `${dir}/sys`],
        { name: "idle-queue", env },
      );
      running.push(one);
      const [url = ""] = await one.waitForOutput(/http:\/\/127\.0\.0\.1:\d+/);
      return {
        process: one,
        alert: async (uuid, vendor, status = "firing") => {
          const labels = { alertname: "GpuIdle", uuid, gpu: "3", host: "node-1" };
          const annotations = {
            gpu_model: "a GPU",
            memory_free_bytes: "1000",
            ...(vendor === undefined ? {} : { gpu_vendor: vendor }),
          };
          const body = JSON.stringify({ alerts: [{ status, labels, annotations }] });
          expect((await fetch(url, { method: "POST", body })).status).toBe(200);
        },
      };
    },
  };
}

function kfdNode(dir: string, node: number, gpuId: number, location: number): void {
  const folder = path.join(dir, "sys/class/kfd/kfd/topology/nodes", String(node));
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, "gpu_id"), `${gpuId}\n`);
  writeFileSync(path.join(folder, "properties"), `domain 0\nlocation_id ${location}\n`);
}

function pciDevice(dir: string, address: string, vendor: string, driver: string): void {
  const folder = path.join(dir, "sys/bus/pci/drivers", driver, address);
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, "vendor"), `${vendor}\n`);
}

const nvidia = "GPU-5e3f2a10-89ab-4cde-8f01-23456789abcd";
const inherited = {
  CUDA_VISIBLE_DEVICES: "7",
  ROCR_VISIBLE_DEVICES: "7",
  HIP_VISIBLE_DEVICES: "7",
  GPU_DEVICE_ORDINAL: "7",
  ZE_AFFINITY_MASK: "7",
};

test.for([
  [nvidia, "nvidia", { CUDA_VISIBLE_DEVICES: nvidia }],
  [nvidia, undefined, { CUDA_VISIBLE_DEVICES: nvidia }],
  [
    "MIG-1c2d3e4f-0000-4cde-8f01-23456789abcd",
    undefined,
    { CUDA_VISIBLE_DEVICES: "MIG-1c2d3e4f-0000-4cde-8f01-23456789abcd" },
  ],
  [
    "GPU-4b2c1a9f134b3f64",
    "amd",
    { ROCR_VISIBLE_DEVICES: "GPU-4b2c1a9f134b3f64", HIP_VISIBLE_DEVICES: "0" },
  ],
  [
    "GPU-4b2c1a9f134b3f64",
    undefined,
    { ROCR_VISIBLE_DEVICES: "GPU-4b2c1a9f134b3f64", HIP_VISIBLE_DEVICES: "0" },
  ],
  // The second GPU in ROCm's order; node 0 is the processor.
  ["amd-0000:03:00.0", "amd", { ROCR_VISIBLE_DEVICES: "1", HIP_VISIBLE_DEVICES: "0" }],
  // The second Intel GPU on the bus, whatever its index among all GPUs.
  ["intel-0000:4d:00.0", "intel", { ZE_AFFINITY_MASK: "1", ZE_ENABLE_PCI_ID_DEVICE_ORDER: "1" }],
  ["intel-0000:4d:00.0", undefined, { ZE_AFFINITY_MASK: "1", ZE_ENABLE_PCI_ID_DEVICE_ORDER: "1" }],
] as const)("a job on %s (vendor %s) is confined to that GPU", async ([uuid, vendor, wanted]) => {
  const lab = openLab();
  kfdNode(lab.dir, 0, 0, 0);
  kfdNode(lab.dir, 1, 111, 0x0c00);
  kfdNode(lab.dir, 2, 222, 0x0300);
  pciDevice(lab.dir, "0000:00:02.0", "0x8086", "i915");
  pciDevice(lab.dir, "0000:4d:00.0", "0x8086", "xe");
  lab.job("env.sh", "env\n");
  const queue = await lab.start(inherited);
  await queue.alert(uuid, vendor);
  await lab.waitFor("done", "env.sh");
  const lines = readFileSync(path.join(lab.dir, "done", "env.sh.log"), "utf8").split("\n");
  const seen = lines.filter((line) => /^(CUDA|ROCR|HIP|ZE|GPU_DEVICE)_/.test(line)).toSorted();
  expect(seen).toEqual(
    Object.entries(wanted)
      .map(([name, value]) => `${name}=${value}`)
      .toSorted(),
  );
  expect(lines).toContain(`GPU_UUID=${uuid}`);
});

test("a GPU that no variable can name gets no job, and the queue says why", async () => {
  const lab = openLab();
  lab.job("a.sh", "true\n");
  const queue = await lab.start();
  await queue.alert("intel-0000:4d:00.0", "intel");
  await queue.process.waitForOutput(/intel-0000:4d:00\.0.*no job/);
  expect(lab.list("waiting")).toEqual(["a.sh"]);
});

test("a job that ended while the queue was down is done or failed, and the next one starts", async () => {
  const lab = openLab();
  lab.job("1-good.sh", `until [ -e ${lab.dir}/go ]; do sleep 0.05; done\n`);
  lab.job("2-bad.sh", `until [ -e ${lab.dir}/go ]; do sleep 0.05; done; exit 3\n`);
  lab.job("3-next.sh", "true\n");
  const first = await lab.start();
  await first.alert("GPU-00000000-0000-4000-8000-000000000001", "nvidia");
  await first.alert("GPU-00000000-0000-4000-8000-000000000002", "nvidia");
  await lab.waitFor("running", "2-bad.sh");
  process.kill(first.process.pid, "SIGKILL");
  await first.process.waitForExit();
  writeFileSync(path.join(lab.dir, "go"), "");
  const second = await lab.start();
  await lab.waitFor("done", "1-good.sh");
  await lab.waitFor("failed", "2-bad.sh");
  await second.alert("GPU-00000000-0000-4000-8000-000000000001", "nvidia");
  await lab.waitFor("done", "3-next.sh");
  await expect.poll(() => readdirSync(path.join(lab.dir, "running"))).toEqual([]);
});

test("a job that still runs after a restart keeps its GPU, and ends as any other", async () => {
  const lab = openLab();
  lab.job("1-long.sh", `until [ -e ${lab.dir}/go ]; do sleep 0.05; done\n`);
  lab.job("2-next.sh", "true\n");
  const first = await lab.start();
  await first.alert(nvidia, "nvidia");
  await lab.waitFor("running", "1-long.sh");
  await first.process.stop();
  const second = await lab.start();
  await second.process.waitForOutput(/1-long\.sh still runs/);
  await second.alert(nvidia, "nvidia");
  expect(lab.list("waiting")).toEqual(["2-next.sh"]);
  writeFileSync(path.join(lab.dir, "go"), "");
  await lab.waitFor("done", "1-long.sh");
  await lab.waitFor("done", "2-next.sh");
});

test("a job killed with the queue has failed; its process number given to another process is not taken for it", async () => {
  const lab = openLab();
  lab.job("1-killed.sh", "sleep 60\n");
  const first = await lab.start();
  await first.alert(nvidia, "nvidia");
  await lab.waitFor("running", "1-killed.sh");
  const file = path.join(lab.dir, "running", "1-killed.sh.json");
  const record = await waitUntil({ what: "the record", timeoutMs: 5_000 }, async () => {
    const read = JSON.parse(readFileSync(file, "utf8")) as { pid: number };
    return read.pid > 0 ? read : undefined;
  });
  process.kill(first.process.pid, "SIGKILL");
  process.kill(-record.pid, "SIGKILL");
  await first.process.waitForExit();
  // This test's own process has a different start time.
  writeFileSync(file, JSON.stringify({ ...record, pid: process.pid }));
  await lab.start();
  await lab.waitFor("failed", "1-killed.sh");
});

test("a GPU that asked before the restart gets the next job without a new message", async () => {
  const lab = openLab();
  const first = await lab.start();
  await first.alert(nvidia, "nvidia");
  await first.alert("GPU-00000000-0000-4000-8000-000000000002", "nvidia");
  await first.alert("GPU-00000000-0000-4000-8000-000000000002", "nvidia", "resolved");
  await first.process.stop();
  lab.job("1.sh", "sleep 5; echo $CUDA_VISIBLE_DEVICES\n");
  lab.job("2.sh", "true\n");
  await lab.start();
  await lab.waitFor("running", "1.sh");
  expect(lab.list("waiting")).toEqual(["2.sh"]);
});

test.runIf(process.platform === "linux")("a queue in /proc is refused, and ends", async () => {
  const { code, stderr } = await runProcess(
    process.execPath,
    [script, "--queue", "/proc/gpulse/queue", "--port", "0"],
    { timeoutMs: 20_000 },
  );
  expect(stderr).toContain("idle-queue: cannot create /proc/gpulse");
  expect(code).toBe(2);
});
