// Tests the owners of a GPU: processes with their memory and share, and pods that hold a GPU without running a process on it,
// under the names that NVIDIA's plugin and DRA driver use towards the kubelet.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterEach, beforeEach, expect, test, vi } from "vitest";

import {
  encodePodResources,
  type FakeKubelet,
  replyWith,
  startKubelet,
} from "../fixtures/machine/owners-kubelet.ts";
import { read, useStub } from "./harness.ts";

const harness = useStub();
const claim = "6f1c3b1e-9a55-4c6e-8f6e-2f0d6c1b7a11";
let folder = "";
let kubelet: FakeKubelet | undefined;
let children: ChildProcess[] = [];

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "gpulse-owners-"));
});
afterEach(async () => {
  for (const child of children) child.kill("SIGKILL");
  children = [];
  await kubelet?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Owner series by GPU, once the kubelet lists `resource: [device]` for the pod. */
async function ownersOf(resource: string, device: string): Promise<readonly string[]> {
  const socket = path.join(folder, "kubelet.sock");
  const pods = [
    { pod: "train-0", namespace: "lab", containers: { main: { [resource]: [device] } } },
  ];
  kubelet = await startKubelet(socket, replyWith(encodePodResources(pods)));
  const values = await read(harness.open(false, "/nowhere", socket), "slow");
  return [...values.keys()].filter((name) => name.includes("gpu_owner_info"));
}

const pod = "container=main,namespace=lab,pod=train-0";

test.each([
  ["claim", `k8s.gpu.nvidia.com/claim=${claim}-gpu-5`, `1 gpu_owner_info{${pod}}`],
  ["claim gpu.nvidia.com", "gpu-5", `1 gpu_owner_info{${pod}}`],
  ["nvidia.com/gpu", "nvidia5/vgpu1", `1 gpu_owner_info{${pod}}`],
])(
  "a claim by minor number names the GPU with that minor: %s %s",
  async (resource, device, owner) => {
    // The driver numbers devices by bus, /dev/nvidia* in another order.
    harness.stub.script("gpus 2", "0.minor 4", "1.minor 5");
    expect(await ownersOf(resource, device)).toEqual([owner]);
  },
);

test.each([
  ["claim", `k8s.gpu.nvidia.com/claim=${claim}-gpu-0-mig-1g18gb-19-2`],
  ["claim gpu.nvidia.com", "gpu-0-mig-1g18gb-19-2"],
  ["nvidia.com/gpu", "nvidia0/gi9"],
  ["nvidia.com/mig-1g.18gb", "MIG-00000000-0000-4000-8000-000000000002::0"],
])("a MIG claim names the instance at that placement: %s %s", async (resource, device) => {
  harness.stub.script("gpus 1", "mig 0 3");
  expect(await ownersOf(resource, device)).toEqual([`mig2 gpu_owner_info{${pod}}`]);
});

test("without the right to read placements a claimed MIG instance has no owner rather than a wrong one", async () => {
  harness.stub.script("gpus 1", "mig 0 3", "0.gpu_instance.rc 4");
  expect(await ownersOf("claim gpu.nvidia.com", "gpu-0-mig-1g18gb-19-2")).toEqual([]);
});

test("the ports that a GPU's process or its parent listens on are reported with the GPU", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  // The parent, this process, listens, like the API server of a tensor-parallel group.
  harness.stub.script("gpus 3", `process 0 ${startJob("a")} 1 C`, `process 2 ${startJob("b")} 1 C`);
  const values = await read(harness.open(), "slow");
  server.close();
  expect(
    [...values.keys()].filter((name) => name.includes(`gpu_listener_info{port=${port}}`)),
  ).toEqual([`0 gpu_listener_info{port=${port}}`, `2 gpu_listener_info{port=${port}}`]);
});

/** Starts a sleeping process as a job with this name. */
function startJob(name: string): number {
  const child = spawn("sleep", ["60"], { env: { GPULSE_JOB: name }, stdio: "ignore" });
  children.push(child);
  return child.pid ?? 0;
}

/** Values of one metric by the owner's workload. */
async function byJob(
  source: ReturnType<typeof harness.open>,
  metric: string,
): Promise<Record<string, unknown>> {
  const values = await read(source, "slow");
  return Object.fromEntries(
    [...values].flatMap(([name, value]) => {
      const [, job] = /workload=job:(\w+)/.exec(name) ?? [];
      return job !== undefined && name.includes(`${metric}{`) ? [[job, value]] : [];
    }),
  );
}

test("jobs that share a GPU have their own memory, and no call is made for their shares", async () => {
  const [large, small] = [startJob("large"), startJob("small")];
  harness.stub.script(
    "gpus 1",
    `process 0 ${large} 3000000 C`,
    `process 0 ${small} 1000000 C`,
    "0.process_share 40",
  );
  harness.stub.logCalls();
  const source = harness.open();
  await vi.waitFor(
    async () =>
      expect(await byJob(source, "gpu_owner_memory_bytes")).toEqual({
        large: 3_000_000,
        small: 1_000_000,
      }),
    { timeout: 20_000, interval: 500 },
  );
  expect(await byJob(source, "gpu_owner_utilization_ratio")).toEqual({});
  expect(harness.stub.calls().filter(({ key }) => key === "process_utilization")).toEqual([]);
});
