// What the hub knows of a cluster after something was away: the hub itself while pods came and went, the API server, the hub's
// rights, and a node that was replaced under another name.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { stringify } from "yaml";

import { orSkip } from "../../engines/cache.ts";
import { type RunningHub, startHub } from "../../engines/hub.ts";
import { kubeconfigOf, type RunningKubernetes, startKubernetes } from "../../engines/kubernetes.ts";
import { freePort } from "../../engines/ports.ts";
import { ensureBuild, startAgent } from "../../engines/program.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { waitUntil } from "../../engines/wait.ts";
import { buildStub } from "../nvml-stub/stub.ts";
import { GPUS, gpuUuid, numbers } from "./kubernetes-gpus.ts";
import { addNode, gpuPod, hubToken, NAMESPACE, PODS, startNodeKubelet } from "./kubernetes-lab.ts";
import { openTaintLab } from "./kubernetes-taints.ts";

const RESOURCE = "nvidia.com/gpu";
const NODE = "outage-1";
const LABEL = "example.com/cost.center-v2";

interface OutageLab {
  readonly kubernetes: RunningKubernetes;
  readonly folder: string;
  hub(): RunningHub;
  startHub(): Promise<void>;
  addPods(...names: readonly string[]): Promise<void>;
  deletePods(...names: readonly string[]): Promise<void>;
  /** Waits until both series name exactly these pods; returns how long it took. */
  expectPods(what: string, names: readonly string[]): Promise<number>;
  problems(): Promise<readonly string[]>;
}

/** A node with GPUs whose agent pushes to a hub that describes pods, with the token of `account`. */
async function openLab(
  context: { skip(note: string): never },
  tokenOf: (kubernetes: RunningKubernetes) => Promise<string> = hubToken,
  args: readonly string[] = [],
): Promise<OutageLab> {
  toolOrSkip(context, "gcc");
  await ensureBuild();
  const kubernetes = await orSkip(context, startKubernetes());
  onTestFinished(() => kubernetes.stop());
  await kubernetes.create("/api/v1/namespaces", { metadata: { name: NAMESPACE } });
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-outage-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const kubeconfig = path.join(folder, "kubeconfig");
  const token = await tokenOf(kubernetes);
  writeFileSync(kubeconfig, kubeconfigOf(kubernetes.url, kubernetes.caFile, token));
  const dataDir = path.join(folder, "data");
  mkdirSync(dataDir);
  const port = await freePort();
  const podInfo = ["--pod-info=on", `--pod-labels=${LABEL}`, `--kubeconfig=${kubeconfig}`];
  let hub: RunningHub;
  const start = async (): Promise<void> => {
    hub = await startHub({ dataDir, port, args: [...podInfo, ...args] });
  };
  await start();
  onTestFinished(() => hub.stop());
  const stub = await buildStub();
  onTestFinished(() => stub.remove());
  stub.script(`gpus ${GPUS}`);
  const node = { name: NODE, plugin: { [RESOURCE]: numbers.map(gpuUuid) } };
  await addNode(kubernetes, node);
  const socket = path.join(folder, "kubelet.sock");
  const kubelet = await startNodeKubelet(kubernetes, { socket, node });
  onTestFinished(() => kubelet.close());
  const source = ["--source", `nvidia:?library=${stub.library}`, "--host-name", NODE];
  const where = ["--kubelet-socket", socket, "--procfs", folder];
  const push = ["--push", `http://127.0.0.1:${port}`, "--spool", path.join(folder, "spool")];
  const agent = await startAgent([...source, ...where, ...push]);
  onTestFinished(() => agent.stop());
  const podsOf = async (metric: string): Promise<readonly string[]> => {
    const query = encodeURIComponent(`group by (pod) (${metric})`);
    const answer = await fetch(`${hub.url}/api/v1/query?query=${query}`);
    const { data } = (await answer.json()) as {
      data: { result: readonly { metric: { pod: string } }[] };
    };
    return data.result.map(({ metric: labels }) => labels.pod).sort();
  };
  return {
    kubernetes,
    folder,
    hub: () => hub,
    startHub: start,
    addPods: async (...names) => {
      for (const name of names) {
        const pod = gpuPod(name, { limits: { [RESOURCE]: "1" } }) as {
          metadata: { labels: Record<string, string> };
        };
        pod.metadata.labels[LABEL] = "R_and-D.42";
        await kubernetes.create(PODS, pod);
      }
    },
    deletePods: async (...names) => {
      for (const name of names) await kubernetes.api("DELETE", `${PODS}/${name}`);
    },
    expectPods: async (what, names) => {
      const beganMs = performance.now();
      await waitUntil({ what, timeoutMs: 90_000 }, async () => {
        const described = await podsOf(
          'gpu_owner_pod_info{label_example_com_cost_center_v2="R_and-D.42"}',
        );
        expect([await podsOf("gpu_owner_info"), described]).toEqual([names, names]);
        return true;
      });
      return performance.now() - beganMs;
    },
    problems: async () => {
      const answer = await fetch(`${hub.url}/-/ready`);
      return ((await answer.json()) as { problems?: readonly string[] }).problems ?? [];
    },
  };
}

const limit = { timeout: 600_000 };

test("pods that end while the hub is killed own no GPU after its start", limit, async (context) => {
  const lab = await openLab(context);
  await lab.addPods("stays", "ends-1", "ends-2");
  await lab.expectPods("the first pods", ["ends-1", "ends-2", "stays"]);
  await lab.hub().kill();
  await lab.deletePods("ends-1", "ends-2");
  await lab.addPods("starts");
  await sleep(5_000);
  await lab.startHub();
  const durationMs = await lab.expectPods("the pods that are left", ["starts", "stays"]);
  process.stdout.write(`owners right ${Math.round(durationMs)} ms after the hub was ready\n`);
});

test(
  "while the API server is away pods keep their labels, and changes are seen when it is back",
  limit,
  async (context) => {
    const lab = await openLab(context);
    await lab.addPods("first", "second");
    await lab.expectPods("the first pods", ["first", "second"]);
    await lab.kubernetes.apiServer.stop();
    await sleep(15_000);
    await lab.expectPods("the pods during the outage", ["first", "second"]);
    await lab.kubernetes.apiServer.start();
    await lab.deletePods("second");
    await lab.addPods("third");
    await lab.expectPods("the pods after the outage", ["first", "third"]);
    expect(await lab.problems()).toEqual([]);
  },
);

test(
  "a hub without rights names the verb it lacks, and describes the pods once it has them",
  limit,
  async (context) => {
    const roles = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    let bindings: readonly object[] = [];
    const lab = await openLab(context, async (kubernetes) => {
      const token = await hubToken(kubernetes);
      const { body } = await kubernetes.api<{
        items: readonly { metadata: { name: string; uid?: string; resourceVersion?: string } }[];
      }>("GET", roles);
      bindings = body.items.filter(({ metadata }) => metadata.name.startsWith("gpulse"));
      expect(bindings.length).toBeGreaterThan(0);
      for (const { metadata } of body.items.filter((one) => bindings.includes(one))) {
        await kubernetes.api("DELETE", `${roles}/${metadata.name}`);
        delete metadata.uid;
        delete metadata.resourceVersion;
      }
      return token;
    });
    await lab.addPods("first");
    await waitUntil({ what: "the hub to name the problem", timeoutMs: 60_000 }, async () => {
      expect(await lab.problems()).toEqual([expect.stringMatching(/^pod info: .*403.*cannot get/)]);
      return true;
    });
    await lab.kubernetes.create(roles, ...bindings);
    await lab.expectPods("the pod once the hub may read it", ["first"]);
    await expect.poll(() => lab.problems(), { timeout: 30_000 }).toEqual([]);
  },
);

test(
  "a discovery that slept through deletions and a restart of the API server lists again",
  limit,
  async (context) => {
    toolOrSkip(context, "gcc");
    await ensureBuild();
    const kubernetes = await orSkip(context, startKubernetes());
    onTestFinished(() => kubernetes.stop());
    await kubernetes.create("/api/v1/namespaces", { metadata: { name: NAMESPACE } });
    const folder = mkdtempSync(path.join(tmpdir(), "gpulse-outage-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    await addNode(kubernetes, { name: NODE });
    const config = path.join(folder, "prometheus.yml");
    const discovery = {
      role: "pod",
      kubeconfig_file: kubernetes.kubeconfig,
      namespaces: { names: [NAMESPACE] },
    };
    const job = { job_name: "pods", kubernetes_sd_configs: [discovery] };
    writeFileSync(config, stringify({ scrape_configs: [job] }));
    const dataDir = path.join(folder, "data");
    mkdirSync(dataDir);
    const hub = await startHub({
      dataDir,
      args: [`--prometheus-config=${config}`, "--log-level=debug"],
    });
    onTestFinished(() => hub.stop());
    const targets = async (): Promise<readonly string[]> => {
      const answer = await fetch(`${hub.url}/api/v1/targets?state=active`);
      const { data } = (await answer.json()) as {
        data: { activeTargets: { discoveredLabels: Record<string, string> }[] };
      };
      const names = data.activeTargets.map(
        ({ discoveredLabels }) => discoveredLabels["__meta_kubernetes_pod_name"] ?? "",
      );
      return names.sort();
    };
    const add = async (...names: readonly string[]): Promise<void> => {
      for (const name of names) await kubernetes.create(PODS, gpuPod(name, {}));
    };
    const patience = { timeout: 90_000, interval: 500 };
    await add("stays", "ends");
    await expect.poll(targets, patience).toEqual(["ends", "stays"]);
    // Objects of other kinds move the cluster's version past the last one of the pods.
    process.kill(hub.process.pid, "SIGSTOP");
    try {
      await kubernetes.api("DELETE", `${PODS}/ends`);
      for (let index = 0; index < 50; index++)
        await kubernetes.create(`/api/v1/namespaces/${NAMESPACE}/configmaps`, {
          metadata: { name: `filler-${index}` },
        });
      await kubernetes.apiServer.stop();
      await kubernetes.apiServer.start();
      await add("starts");
    } finally {
      process.kill(hub.process.pid, "SIGCONT");
    }
    await expect.poll(targets, patience).toEqual(["starts", "stays"]);
  },
);

test(
  "a fault while the API server is away taints its node when it is back, and a node replaced under another name is clean",
  limit,
  async (context) => {
    toolOrSkip(context, "gcc");
    await ensureBuild();
    const lab = await orSkip(context, openTaintLab("on"));
    onTestFinished(() => lab.close());
    await lab.kubernetes.apiServer.stop();
    const tainted = lab.fault();
    await sleep(10_000);
    await lab.kubernetes.apiServer.start();
    await tainted;
    // The node is replaced: its name is the same, and the GPU is still lost.
    await lab.kubernetes.api("DELETE", "/api/v1/nodes/taint-1");
    const add = (name: string): Promise<void> =>
      lab.kubernetes.create("/api/v1/nodes", { metadata: { name } });
    await add("taint-1");
    await expect.poll(() => lab.taints(), { timeout: 60_000 }).toEqual(["gpulse.io/unhealthy-gpu"]);
    // Under another name it is another node: the old one is gone with its taint.
    await lab.kubernetes.api("DELETE", "/api/v1/nodes/taint-1");
    await add("taint-1b");
    await sleep(10_000);
    const { body } = await lab.kubernetes.api<{
      items: { metadata: { name: string }; spec: { taints?: { key: string }[] } }[];
    }>("GET", "/api/v1/nodes");
    const unhealthy = body.items.filter(({ spec }) =>
      spec.taints?.some(({ key }) => key === "gpulse.io/unhealthy-gpu"),
    );
    expect(unhealthy.map(({ metadata }) => metadata.name)).toEqual([]);
  },
);
