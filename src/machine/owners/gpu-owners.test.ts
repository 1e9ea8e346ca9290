import { expect, test } from "vitest";
import { known, type Owner, unknown } from "./attribution.ts";
import { type GpuProcess, ownersOfGpu, topProcesses } from "./gpu-owners.ts";
import type { AllocatedDevice } from "./kubelet/pod-resources.ts";

const none = unknown("none");

function owner(pid: number, facts: Partial<Owner> = {}): Owner {
  return {
    pid,
    process: known(`p${pid}`),
    user: known("ada"),
    runtime: none,
    containerId: none,
    containerName: none,
    podUid: none,
    pod: none,
    namespace: none,
    workload: none,
    ...facts,
  };
}

const inPod = (pid: number, pod: string): Owner =>
  owner(pid, {
    containerId: known("4f".repeat(32)),
    podUid: known("u"),
    pod: known(pod),
    namespace: known("lab"),
    containerName: known("main"),
  });
const held = (pod: string): AllocatedDevice => ({
  namespace: "lab",
  pod,
  container: "main",
  resource: "nvidia.com/gpu",
  device: "gpu-1",
});
const map = (...owners: readonly Owner[]) => new Map(owners.map((one) => [one.pid, one]));
const use = (processes: readonly GpuProcess[], holders: readonly AllocatedDevice[] = []) => ({
  processes,
  holders: known(holders),
});

test("pods that share a GPU each show what their own processes hold, not the whole", () => {
  const { owners } = ownersOfGpu(
    use(
      [
        { pid: 1, memoryBytes: 100, utilizationRatio: 0.25 },
        { pid: 2, memoryBytes: 300, utilizationRatio: 0.5 },
        { pid: 3, memoryBytes: 50, utilizationRatio: 0.125 },
      ],
      [held("a"), held("b"), held("idle")],
    ),
    map(inPod(1, "a"), inPod(2, "b"), inPod(3, "a")),
  );
  const lab = (pod: string) => ({ namespace: "lab", pod, container: "main" });
  expect(owners).toEqual([
    { labels: lab("b"), processes: 1, memoryBytes: 300, utilizationRatio: 0.5 },
    { labels: lab("a"), processes: 2, memoryBytes: 150, utilizationRatio: 0.375 },
    { labels: lab("idle"), processes: 0, memoryBytes: undefined, utilizationRatio: undefined },
  ]);
});

test("a pod without a name takes that of the only holder, and of several none", () => {
  const nameless = owner(1, { podUid: known("u"), containerId: known("4f".repeat(32)) });
  const labels = (holders: readonly AllocatedDevice[]) =>
    ownersOfGpu(use([{ pid: 1 }], holders), map(nameless)).owners.map((one) => one.labels);
  expect(labels([held("a")])).toEqual([{ namespace: "lab", pod: "a", container: "main" }]);
  expect(labels([held("a"), held("b")])).toContainEqual({
    container: "4f4f4f4f4f4f",
    user: "ada",
  });
});

test("a job is its owner's workload, with the user who started it", () => {
  const { owners } = ownersOfGpu(use([{ pid: 1 }]), map(owner(1, { workload: known("4711") })));
  expect(owners.map((one) => one.labels)).toEqual([{ workload: "4711", user: "ada" }]);
});

test("a sum of some processes is not given as the sum of all", () => {
  const { owners } = ownersOfGpu(
    use([
      { pid: 1, memoryBytes: 5 },
      { pid: 2, utilizationRatio: 0.9 },
    ]),
    map(owner(1), owner(2)),
  );
  expect(owners).toMatchObject([{ processes: 2, memoryBytes: undefined }]);
});

test("processes nobody can be named for are counted by reason", () => {
  const denied = owner(1, { user: unknown("denied"), process: unknown("denied") });
  const { owners, unattributed } = ownersOfGpu(use([{ pid: 1 }, { pid: 2 }]), map(denied));
  expect(owners).toEqual([]);
  expect(unattributed).toEqual({ denied: 1, gone: 1 });
});

test("owners and processes are bounded, the largest kept, the rest counted", () => {
  const processes = Array.from({ length: 100 }, (_, pid) => ({ pid, memoryBytes: pid }));
  const owners = map(...processes.map(({ pid }) => owner(pid, { workload: known(String(pid)) })));
  const all = ownersOfGpu(use(processes), owners);
  expect(all.owners).toHaveLength(64);
  expect(all.leftOut).toBe(36);
  expect(all.owners[0]?.labels.workload).toBe("99");
  const top = topProcesses(use(processes), owners);
  expect(top.processes).toHaveLength(20);
  expect(top.leftOut).toBe(80);
  expect(top.processes[0]).toEqual({
    labels: { pid: "99", process: "p99", workload: "99" },
    memoryBytes: 99,
    utilizationRatio: undefined,
  });
});
