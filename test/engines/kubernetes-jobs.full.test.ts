// Pods of a Deployment, a Job, and of controllers that only their owner references name, in a real control plane: the job
// ledger of a hub with `--pod-info on` has the controller of each, and bills by it.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";

import { orSkip } from "../../engines/cache.ts";
import { startHub } from "../../engines/hub.ts";
import { kubeconfigOf, type RunningKubernetes, startKubernetes } from "../../engines/kubernetes.ts";
import { ensureBuild, startAgent } from "../../engines/program.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { buildStub } from "../nvml-stub/stub.ts";
import {
  addNode,
  gpuPod,
  NAMESPACE,
  PODS,
  podInfoToken,
  startNodeKubelet,
} from "./kubernetes-lab.ts";

const gpus = 6;
const resource = "nvidia.com/gpu";
const node = "jobs-1";
const limits = { limits: { [resource]: "1" } };

const template = (app: string, spec: object = {}): object => ({
  metadata: { labels: { app } },
  spec: { containers: [{ name: "main", image: "train", resources: limits }], ...spec },
});

/** As an operator creates it: the custom resource itself is not needed. */
const controlledPod = (name: string, kind: string, labels: object = {}): object => {
  const owner = { apiVersion: "lab.example/v1", kind, name: "llama", uid: `uid-${name}` };
  const pod = gpuPod(name, limits) as { metadata: object };
  return {
    ...pod,
    metadata: { ...pod.metadata, labels, ownerReferences: [{ ...owner, controller: true }] },
  };
};

async function createAll(kubernetes: RunningKubernetes): Promise<void> {
  await kubernetes.create(`/apis/apps/v1/namespaces/${NAMESPACE}/deployments`, {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "api" },
    spec: { replicas: 2, selector: { matchLabels: { app: "api" } }, template: template("api") },
  });
  await kubernetes.create(`/apis/batch/v1/namespaces/${NAMESPACE}/jobs`, {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: "nightly" },
    spec: { template: template("nightly", { restartPolicy: "Never" }) },
  });
  await kubernetes.create(
    PODS,
    controlledPod("ray-head", "RayCluster"),
    controlledPod("torch-0", "PyTorchJob"),
    controlledPod("ada-0", "StatefulSet", { "notebook-name": "llama" }),
  );
}

test(
  "the ledger has the controller of each pod and bills by it",
  { timeout: 600_000 },
  async (context) => {
    toolOrSkip(context, "gcc");
    await ensureBuild();
    const kubernetes = await orSkip(context, startKubernetes());
    onTestFinished(() => kubernetes.stop());
    await kubernetes.create("/api/v1/namespaces", { metadata: { name: NAMESPACE } });
    const folder = mkdtempSync(path.join(tmpdir(), "gpulse-kubernetes-jobs-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const dataDir = path.join(folder, "data");
    mkdirSync(dataDir);
    const kubeconfig = path.join(folder, "kubeconfig");
    const token = await podInfoToken(kubernetes);
    writeFileSync(kubeconfig, kubeconfigOf(kubernetes.url, kubernetes.caFile, token));
    const hub = await startHub({
      dataDir,
      args: ["--pod-info=on", `--kubeconfig=${kubeconfig}`],
    });
    onTestFinished(() => hub.stop());
    const stub = await buildStub();
    onTestFinished(() => stub.remove());
    stub.script(`gpus ${gpus}\n*.utilization 0`);
    const uuids = Array.from(
      { length: gpus },
      (_, index) => `GPU-0000000${index}-0000-4000-8000-000000000000`,
    );
    const place = { name: node, plugin: { [resource]: uuids } };
    await addNode(kubernetes, place);
    const socket = path.join(folder, "kubelet.sock");
    const kubelet = await startNodeKubelet(kubernetes, { socket, node: place });
    onTestFinished(() => kubelet.close());
    await createAll(kubernetes);
    const source = ["--source", `nvidia:?library=${stub.library}&slow-every=1s`];
    const where = ["--kubelet-socket", socket, "--procfs", folder, "--host-name", node];
    const push = ["--push", hub.url, "--spool", path.join(folder, "spool")];
    const agent = await startAgent([...source, ...where, ...push]);
    onTestFinished(() => agent.stop());

    const get = async <Body>(route: string): Promise<Body> =>
      (await (await fetch(hub.url + route)).json()) as Body;
    const bill = async (): Promise<readonly string[]> => {
      const { lines } = await get<{ lines: { name: string; jobs: number }[] }>(
        "/api/jobs/bill?by=controller",
      );
      return lines.map(({ name, jobs }) => `${jobs} of ${name}`).sort();
    };
    await expect
      .poll(bill, { timeout: 120_000, interval: 1_000 })
      .toEqual([
        `1 of ${NAMESPACE}/Job/nightly`,
        `1 of ${NAMESPACE}/Notebook/llama`,
        `1 of ${NAMESPACE}/PyTorchJob/llama`,
        `1 of ${NAMESPACE}/RayCluster/llama`,
        `2 of ${NAMESPACE}/Deployment/api`,
      ]);
    const { jobs } = await get<{ jobs: { kind: string }[] }>("/api/jobs?state=running");
    expect(jobs.map(({ kind }) => kind)).toEqual(Array.from({ length: gpus }, () => "pod"));
  },
);
