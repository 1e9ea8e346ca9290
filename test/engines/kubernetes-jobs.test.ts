// Pods of every kind of owner as jobs of the ledger: the real API server, its controllers and its scheduler, an agent that reads
// GPUs through the NVML stub and the kubelet's list, and a hub that reads the pods with the rights that the chart grants it. The
// controllers of Job, Deployment and StatefulSet are Kubernetes' own; the pods of RayCluster, PyTorchJob and Notebook are created
// here as their operators create them.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { stringify } from "yaml";

import { orSkip } from "../../engines/cache.ts";
import { startHub } from "../../engines/hub.ts";
import { kubeconfigOf, startKubernetes } from "../../engines/kubernetes.ts";
import { ensureBuild, runGpulse, startAgent } from "../../engines/program.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { waitUntil } from "../../engines/wait.ts";
import { buildStub } from "../nvml-stub/stub.ts";
import { gpuUuid } from "./kubernetes-gpus.ts";
import { addNode, gpuPod, hubToken, NAMESPACE, PODS, startNodeKubelet } from "./kubernetes-lab.ts";

const RESOURCE = "nvidia.com/gpu";
const GPUS = 7;
const limits = { limits: { [RESOURCE]: "1" } };

interface CustomKind {
  readonly kind: string;
  readonly plural: string;
  readonly group: string;
  readonly version: string;
}

const rayCluster = { kind: "RayCluster", plural: "rayclusters", group: "ray.io", version: "v1" };
const pyTorchJob = {
  kind: "PyTorchJob",
  plural: "pytorchjobs",
  group: "kubeflow.org",
  version: "v1",
};
const notebook = {
  kind: "Notebook",
  plural: "notebooks",
  group: "kubeflow.org",
  version: "v1beta1",
};

/** The part of the operators' definitions that ownership needs. */
const definitionOf = ({ kind, plural, group, version }: CustomKind): unknown => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: "Namespaced",
    names: { kind, plural, singular: kind.toLowerCase() },
    versions: [
      {
        name: version,
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        },
      },
    ],
  },
});

/** The container and labels of a template's pods. */
const template = (labels: Readonly<Record<string, string>>, more: object = {}): unknown => ({
  metadata: { labels },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [{ name: "main", image: "train", resources: limits }],
    ...more,
  },
});

interface ListedJob {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly project?: string;
  readonly controller?: string;
}

test(
  "pods of a Job, a Deployment, a RayCluster, a PyTorchJob and notebooks are jobs of the ledger",
  { timeout: 600_000 },
  async (context) => {
    toolOrSkip(context, "gcc");
    await ensureBuild();
    const kubernetes = await orSkip(context, startKubernetes());
    onTestFinished(() => kubernetes.stop());
    await kubernetes.create("/api/v1/namespaces", { metadata: { name: NAMESPACE } });
    const folder = mkdtempSync(path.join(tmpdir(), "gpulse-kubernetes-jobs-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));

    const definitions = path.join(folder, "definitions");
    mkdirSync(definitions);
    for (const one of [rayCluster, pyTorchJob, notebook])
      writeFileSync(path.join(definitions, `${one.plural}.yaml`), stringify(definitionOf(one)));
    await kubernetes.define(definitions);

    const stub = await buildStub();
    onTestFinished(() => stub.remove());
    stub.script(`gpus ${GPUS}`);
    const gpus = Array.from({ length: GPUS }, (_, index) => gpuUuid(index));
    const node = { name: "lab-0", plugin: { [RESOURCE]: gpus } };
    await addNode(kubernetes, node);
    const socket = path.join(folder, "kubelet.sock");
    const kubelet = await startNodeKubelet(kubernetes, { socket, node });
    onTestFinished(() => kubelet.close());

    const kubeconfig = path.join(folder, "kubeconfig");
    const token = await hubToken(kubernetes);
    writeFileSync(kubeconfig, kubeconfigOf(kubernetes.url, kubernetes.caFile, token));
    const podInfo = ["--pod-info=on", "--pod-labels=team", `--kubeconfig=${kubeconfig}`];
    const hub = await startHub({ dataDir: path.join(folder, "data"), args: podInfo });
    onTestFinished(() => hub.stop());
    const agent = await startAgent([
      "--source",
      `nvidia:?library=${stub.library}&slow-every=1s`,
      "--host-name",
      node.name,
      "--kubelet-socket",
      socket,
      "--procfs",
      folder,
      "--push",
      hub.url,
      "--spool",
      path.join(folder, "spool"),
    ]);
    onTestFinished(() => agent.stop());

    const uidOf = async ({ kind, plural, group, version }: CustomKind, name: string) => {
      const at = `/apis/${group}/${version}/namespaces/${NAMESPACE}/${plural}`;
      const apiVersion = `${group}/${version}`;
      await kubernetes.create(at, { apiVersion, kind, metadata: { name, namespace: NAMESPACE } });
      const { body } = await kubernetes.api<{ metadata: { uid: string } }>("GET", `${at}/${name}`);
      return { apiVersion, kind, name, uid: body.metadata.uid, controller: true };
    };
    const addPod = async (
      name: string,
      labels: Readonly<Record<string, string>>,
      owner?: unknown,
    ): Promise<void> => {
      const pod = gpuPod(name, limits) as { metadata: object };
      const metadata = { ...pod.metadata, labels, ...(owner ? { ownerReferences: [owner] } : {}) };
      await kubernetes.create(PODS, { ...pod, metadata });
    };
    const apps = `/apis/apps/v1/namespaces/${NAMESPACE}`;
    await kubernetes.create(`/apis/batch/v1/namespaces/${NAMESPACE}/jobs`, {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: { name: "train", namespace: NAMESPACE },
      spec: { template: template({ team: "vision" }, { restartPolicy: "Never" }) },
    });
    await kubernetes.create(`${apps}/deployments`, {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "api", namespace: NAMESPACE },
      spec: { selector: { matchLabels: { app: "api" } }, template: template({ app: "api" }) },
    });
    await kubernetes.create(`${apps}/statefulsets`, {
      apiVersion: "apps/v1",
      kind: "StatefulSet",
      metadata: {
        name: "ada",
        namespace: NAMESPACE,
        ownerReferences: [await uidOf(notebook, "ada")],
      },
      spec: {
        serviceName: "ada",
        selector: { matchLabels: { statefulset: "ada" } },
        template: template({ statefulset: "ada", "notebook-name": "ada" }),
      },
    });
    await addPod("search-worker-x7k2p", { team: "search" }, await uidOf(rayCluster, "search"));
    await addPod("llama-worker-0", {}, await uidOf(pyTorchJob, "llama"));
    await addPod("jupyter-ben", {
      "hub.jupyter.org/username": "ben",
      component: "singleuser-server",
    });
    await addPod("bare", { team: "vision" });

    const jobs = async (...args: readonly string[]): Promise<unknown> => {
      const { code, stdout, stderr } = await runGpulse(["jobs", ...args, "--url", hub.url]);
      expect([code, stderr]).toEqual([0, ""]);
      return JSON.parse(stdout) as unknown;
    };
    const expected = [
      ["ada", "Notebook/ada"],
      ["api", "Deployment/api"],
      ["bare", undefined],
      ["jupyter-ben", "Notebook/ben"],
      ["llama-worker", "PyTorchJob/llama"],
      ["search-worker", "RayCluster/search"],
      ["train", "Job/train"],
    ];
    const listed = await waitUntil(
      { what: "the ledger to have every pod and its owner", timeoutMs: 120_000 },
      async () => {
        const found = (await jobs("list", "--json")) as { readonly jobs: readonly ListedJob[] };
        // Without the parts that Kubernetes or an operator makes up.
        const named = found.jobs
          .map(({ name, controller }) => [
            /^(?:jupyter-ben|[a-z]+(?:-worker)?)/.exec(name)?.[0],
            controller,
          ])
          .sort(([one = ""], [two = ""]) => (one < two ? -1 : 1));
        expect(named).toEqual(expected);
        return found.jobs;
      },
    );
    for (const { kind, project } of listed) expect([kind, project]).toEqual(["pod", NAMESPACE]);

    const labelsOf = async (name: string): Promise<unknown> => {
      const { id = "" } = listed.find((one) => one.name.startsWith(name)) ?? {};
      const { job } = (await jobs("show", id, "--json")) as { job: { labels?: unknown } };
      return job.labels;
    };
    expect(await labelsOf("train")).toEqual({ label_team: "vision" });
    expect(await labelsOf("search")).toEqual({ label_team: "search" });
    expect(await labelsOf("bare")).toEqual({ label_team: "vision" });
    expect(await labelsOf("llama")).toBeUndefined();

    const bill = (await jobs("bill", "--by", "controller", "--json")) as {
      readonly lines: readonly { readonly name: string; readonly gpuSeconds: number }[];
    };
    expect(bill.lines.map(({ name }) => name).sort()).toEqual(
      [
        ...expected.flatMap(([, controller]) => (controller ? [`${NAMESPACE}/${controller}`] : [])),
        "unknown",
      ].sort(),
    );
    const byProject = (await jobs("bill", "--by", "project", "--json")) as {
      readonly lines: readonly { readonly name: string; readonly jobs: number }[];
    };
    expect(byProject.lines).toMatchObject([{ name: NAMESPACE, jobs: expected.length }]);
  },
);
