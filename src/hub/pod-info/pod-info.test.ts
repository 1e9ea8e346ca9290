import { expect, test } from "vitest";
import { card, frameOf, healthStartMs } from "../../../test/fixtures/view/health.ts";
import { silentLog } from "../../base/log.ts";
import { gpu } from "../../model/catalogue/index.ts";
import type { Frame } from "../../model/frame.ts";
import { LatestFrames } from "../../sinks/latest/latest.ts";
import { ApiServerError } from "../kubernetes/api-server.ts";
import { PodInfo } from "./pod-info.ts";
import { labelNameOf, podLabels } from "./pod.ts";

const replicaSet = { kind: "ReplicaSet", name: "batch-worker-6d4cf56db6", controller: true };
const pod = (labels: Record<string, string>, ...ownerReferences: readonly object[]): unknown => ({
  metadata: { name: "any", labels, ownerReferences },
});

test.each<readonly [string, unknown, Readonly<Record<string, string>> | undefined]>([
  ["a bare pod", pod({ team: "vision" }), { label_team: "vision" }],
  [
    "a Deployment's pod",
    pod({ "pod-template-hash": "6d4cf56db6", team: "vision" }, replicaSet),
    { owner_kind: "Deployment", owner_name: "batch-worker", label_team: "vision" },
  ],
  [
    "a ReplicaSet without a Deployment",
    pod({}, replicaSet),
    { owner_kind: "ReplicaSet", owner_name: "batch-worker-6d4cf56db6" },
  ],
  [
    "a Job's pod with an owner that does not control it",
    pod({ team: "" }, { kind: "Queue", name: "q" }, { kind: "Job", name: "j", controller: true }),
    { owner_kind: "Job", owner_name: "j" },
  ],
  ...["RayCluster", "PyTorchJob", "RayJob"].map(
    (kind) =>
      [
        `a ${kind}'s pod`,
        pod({}, { kind, name: "llama", controller: true }),
        { owner_kind: kind, owner_name: "llama" },
      ] as const,
  ),
  [
    "a Kubeflow notebook's pod",
    pod({ "notebook-name": "ada" }, { kind: "StatefulSet", name: "ada", controller: true }),
    { owner_kind: "Notebook", owner_name: "ada" },
  ],
  [
    "a StatefulSet's pod with a label of its own",
    pod({ "notebook-name": "ada" }, { kind: "StatefulSet", name: "db", controller: true }),
    { owner_kind: "StatefulSet", owner_name: "db" },
  ],
  [
    "a JupyterHub user's pod",
    pod({ component: "singleuser-server", "hub.jupyter.org/username": "ada" }),
    { owner_kind: "Notebook", owner_name: "ada" },
  ],
  [
    "a JobSet's pod",
    pod(
      { "jobset.sigs.k8s.io/jobset-name": "llama" },
      { kind: "Job", name: "llama-node-0", controller: true },
    ),
    { owner_kind: "JobSet", owner_name: "llama" },
  ],
  ["something else", { kind: "Status" }, undefined],
  ["labels that are none", { metadata: { labels: { team: 3 } } }, undefined],
])("%s gives its controller and labels", (_, object, labels) =>
  expect(podLabels(object, ["team"])).toEqual(labels),
);

test("label names are those of kube-state-metrics", () =>
  expect(labelNameOf("app.kubernetes.io/name")).toBe("label_app_kubernetes_io_name"));

test("pods that hold GPUs are read once, described in series, and forgotten with their GPU", async () => {
  let nowMs = healthStartMs;
  const latest = new LatestFrames();
  const asked: string[] = [];
  const written: Frame[] = [];
  const described: unknown[] = [];
  const objects: Record<string, unknown> = {
    "lab/train-0": pod(
      { team: "vision" },
      { kind: "StatefulSet", name: "train", controller: true },
    ),
  };
  let failure: Error | undefined;
  const info = new PodInfo({
    latest,
    readPod: async (namespace, name) => {
      asked.push(`${namespace}/${name}`);
      if (failure !== undefined) throw failure;
      const found = objects[`${namespace}/${name}`];
      if (found === undefined) throw new ApiServerError(404, "not found");
      return found;
    },
    labels: ["team"],
    writer: {
      writeFrame: async ({ frame }) => {
        written.push(frame);
        return { stored: 0 } as never;
      },
    },
    describe: (pods) => described.push(pods),
    log: silentLog,
    nowMs: () => nowMs,
  });
  const show = (...owners: readonly (readonly [name: string, container: string])[]): void =>
    latest.write({
      frame: frameOf(
        nowMs,
        owners.map(([name, container]) => [
          gpu.ownerInfo,
          1,
          { namespace: "lab", pod: name, container },
        ]),
      ),
      source: "agent",
      tier: "slow",
      freshForMs: 15_000,
      devices: [card],
    });
  const lastSeries = (): readonly string[] =>
    (written.at(-1)?.layout.series ?? []).map(({ metric, labels }) =>
      [metric.name, ...labels.map(([name, value]) => `${name}=${value}`)].join(" "),
    );

  // Two containers of one pod yield one series, and a deleted pod none.
  show(["train-0", "main"], ["train-0", "side"], ["ended-1", "main"]);
  await info.round();
  await info.round();
  expect(asked.sort()).toEqual(["lab/ended-1", "lab/train-0"]);
  // The job ledger receives the controllers and labels.
  const labels = { label_team: "vision" };
  const train = { namespace: "lab", pod: "train-0", controller: "StatefulSet/train", labels };
  expect(described.at(-1)).toEqual([train]);
  expect(lastSeries()).toEqual([
    "gpu_owner_pod_info gpu=0 host=box label_team=vision namespace=lab owner_kind=StatefulSet owner_name=train pod=train-0 uuid=GPU-a",
  ]);

  // A failure is reported as a problem of the hub; known data stays.
  failure = new Error("the API server answered with 403");
  nowMs += 300_000;
  show(["train-0", "main"]);
  await info.round();
  expect(info.problems()).toEqual(["pod info: the API server answered with 403"]);
  expect(lastSeries()).toHaveLength(1);
  failure = undefined;
  await info.round();
  expect(info.problems()).toEqual([]);

  // No pod holds the GPU any more: a frame without series ends them.
  show();
  await info.round();
  expect(lastSeries()).toEqual([]);
  const frames = written.length;
  await info.round();
  expect(written).toHaveLength(frames);
});

test("a namespace that the hub may not read delays no other, and stays a problem until it can be read", async () => {
  let nowMs = healthStartMs;
  const latest = new LatestFrames();
  const written: Frame[] = [];
  let mayRead = false;
  let asked = 0;
  const info = new PodInfo({
    latest,
    readPod: async (namespace, name) => {
      asked++;
      if (namespace === "secret" && !mayRead)
        throw new ApiServerError(403, `no pods in ${namespace}`);
      return pod({ team: name });
    },
    labels: ["team"],
    writer: {
      writeFrame: async ({ frame }) => {
        written.push(frame);
        return { stored: 0 } as never;
      },
    },
    log: silentLog,
    nowMs: () => nowMs,
  });
  const owners = Array.from({ length: 500 }, (_, index) => ({
    namespace: index < 499 ? "secret" : "lab",
    pod: `p-${index}`,
    container: "main",
  }));
  const round = async (): Promise<readonly string[]> => {
    latest.write({
      frame: frameOf(
        nowMs,
        owners.map((owner) => [gpu.ownerInfo, 1, owner]),
      ),
      source: "agent",
      tier: "slow",
      freshForMs: 15_000,
      devices: [card],
    });
    await info.round();
    nowMs += 5_000;
    return (written.at(-1)?.layout.series ?? []).map(({ labels }) =>
      labels.flatMap(([name, value]) => (name === "label_team" ? [value] : [])).join(),
    );
  };
  await round();
  await round();
  expect(await round()).toEqual(["p-499"]);
  expect(asked).toBe(500);
  for (let count = 0; count < 5; count++) {
    await round();
    expect(info.problems()).toEqual(["pod info: no pods in secret"]);
  }
  expect(asked).toBe(500);
  mayRead = true;
  for (let count = 0; count < 12; count++) await round();
  expect(info.problems()).toEqual([]);
  expect(written.at(-1)?.layout.series).toHaveLength(500);
});
