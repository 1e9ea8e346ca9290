// Pods that hold a GPU and run nothing on it, as NVIDIA's plugin and DRA driver name their devices to the kubelet.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

import {
  encodePodResources,
  type FakeKubelet,
  replyWith,
  startKubelet,
} from "../fixtures/machine/owners-kubelet.ts";
import { waitUntil } from "../../engines/wait.ts";
import { read, useStub } from "./harness.ts";

const harness = useStub();
const claim = "6f1c3b1e-9a55-4c6e-8f6e-2f0d6c1b7a11";
let folder = "";
let kubelet: FakeKubelet | undefined;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "gpulse-owners-"));
});
afterEach(async () => {
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
    // The driver numbers devices by bus, /dev/nvidia* by another order.
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

test("owners that share a GPU have their memory and their share of its time; one alone is not asked for it", async () => {
  const other = spawn("sleep", ["60"]);
  try {
    const source = harness.open(false);
    const [own, second] = [process.pid, other.pid ?? 0];
    harness.stub.script("gpus 1", `process 0 ${own} 2e9 C`);
    const shares = (values: ReadonlyMap<string, number | string>, metric: string) =>
      [...values].flatMap(([name, value]) =>
        name.includes(metric) ? [[/command:\w+/.exec(name)?.[0] ?? name, value]] : [],
      );
    expect(shares(await read(source, "slow"), "gpu_owner_utilization_ratio")).toEqual([]);
    harness.stub.script(
      "gpus 1",
      `process 0 ${own} 2e9 C`,
      `process 0 ${second} 1e9 C`,
      `0.process_share_${own} 15`,
      `0.process_share_${second} 60`,
    );
    const values = await waitUntil({ what: "two shares", timeoutMs: 9_000 }, async () => {
      const found = await read(source, "slow");
      return shares(found, "gpu_owner_utilization_ratio").length === 2 ? found : undefined;
    });
    expect(shares(values, "gpu_owner_memory_bytes")).toContainEqual(["command:sleep", 1e9]);
    expect(shares(values, "gpu_owner_utilization_ratio")).toContainEqual(["command:sleep", 0.6]);
    expect(shares(values, "gpu_owner_utilization_ratio").map(([, share]) => share)).toContain(0.15);
  } finally {
    other.kill();
  }
});
