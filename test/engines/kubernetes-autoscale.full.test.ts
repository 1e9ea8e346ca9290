// The autoscaling examples in a real control plane: KEDA or prometheus-adapter queries the hub, a
// HorizontalPodAutoscaler uses external.metrics.k8s.io, and the Deployment follows the queue up to the number of GPUs.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { parse, parseAllDocuments, stringify } from "yaml";

import { orSkip } from "../../engines/cache.ts";
import { type RunningHub, startHub } from "../../engines/hub.ts";
import { startKeda } from "../../engines/keda.ts";
import { kubeconfigOf, type RunningKubernetes, startKubernetes } from "../../engines/kubernetes.ts";
import { ensureBuild, startAgent } from "../../engines/program.ts";
import { startPrometheusAdapter } from "../../engines/prometheus-adapter.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { buildStub } from "../nvml-stub/stub.ts";
import { addNode, hubToken, NAMESPACE, startNodeKubelet } from "./kubernetes-lab.ts";

const GPUS = 8;
const RESOURCE = "nvidia.com/gpu";
const NODE = "autoscale-1";
const examples = new URL("../../deploy/kubernetes/examples/", import.meta.url);
const DEPLOYMENTS = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`;
const AUTOSCALERS = `/apis/autoscaling/v2/namespaces/${NAMESPACE}/horizontalpodautoscalers`;
const SCALED_OBJECTS = `/apis/keda.sh/v1alpha1/namespaces/${NAMESPACE}/scaledobjects`;

/** An example in the lab's namespace. */
const example = (name: string): string =>
  readFileSync(new URL(name, examples), "utf8")
    .replaceAll("namespace: batch", `namespace: ${NAMESPACE}`)
    .replaceAll('namespace="batch"', `namespace="${NAMESPACE}"`);

interface AutoscaleLab {
  readonly hub: RunningHub;
  /** Creates the object; fails on a warning of the API server. */
  strict(at: string, object: unknown): Promise<void>;
  setQueue(waiting: number): Promise<void>;
  /** Waits until the Deployment's replicas, the owned GPUs, and the GPUs with a known pod in the hub equal the number. */
  settle(expected: number, server: { output(): string }): Promise<void>;
}

/** Eight idle GPUs on a node, a hub that stores their owners, and the Deployment to scale. */
async function openAutoscaleLab(
  kubernetes: RunningKubernetes,
  rules: readonly string[] = [],
): Promise<AutoscaleLab> {
  await kubernetes.define(kubernetes.prometheusOperator);
  await kubernetes.create("/api/v1/namespaces", { metadata: { name: NAMESPACE } });
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-autoscale-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const data = path.join(folder, "data");
  mkdirSync(data);
  const kubeconfig = path.join(folder, "kubeconfig");
  const token = await hubToken(kubernetes);
  writeFileSync(kubeconfig, kubeconfigOf(kubernetes.url, kubernetes.caFile, token));
  const podInfo = ["--pod-info=on", "--pod-labels=app.kubernetes.io/name"];
  const hub = await startHub({
    dataDir: data,
    args: [...podInfo, `--kubeconfig=${kubeconfig}`, ...rules],
  });
  onTestFinished(() => hub.stop());

  // A node with eight idle GPUs, whose agent reads the pod of each from the kubelet.
  const stub = await buildStub();
  onTestFinished(() => stub.remove());
  stub.script(`gpus ${GPUS}\n*.utilization 0`);
  const uuids = Array.from(
    { length: GPUS },
    (_, index) => `GPU-${index.toString(16).padStart(8, "0")}-0000-4000-8000-000000000000`,
  );
  const node = { name: NODE, plugin: { [RESOURCE]: uuids } };
  await addNode(kubernetes, node);
  const socket = path.join(folder, "kubelet.sock");
  const kubelet = await startNodeKubelet(kubernetes, { socket, node });
  onTestFinished(() => kubelet.close());
  const source = ["--source", `nvidia:?library=${stub.library}`, "--host-name", NODE];
  const where = ["--kubelet-socket", socket, "--procfs", folder, "--push", hub.url];
  const spool = ["--spool", path.join(folder, "spool")];
  const agent = await startAgent([...source, ...where, ...spool]);
  onTestFinished(() => agent.stop());

  const strict = async (at: string, object: unknown, query = ""): Promise<void> => {
    const { status, body, warnings } = await kubernetes.api(
      "POST",
      `${at}?fieldValidation=Strict${query}`,
      object,
    );
    expect([status, warnings], JSON.stringify(body)).toEqual([201, []]);
  };
  const setQueue = async (waiting: number): Promise<void> => {
    const metrics = [{ name: "gateway_queue_depth", value: waiting, labels: { queue: "batch" } }];
    const response = await fetch(`${hub.url}/push`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ job: "gateway", instance: "gateway-1", metrics }),
    });
    expect(response.status, await response.text()).toBeLessThan(300);
  };
  await setQueue(0);
  await strict(DEPLOYMENTS, parse(example("batch-worker.yaml")));
  const replicas = async (): Promise<number> => {
    const { body } = await kubernetes.api<{ spec: { replicas?: number } }>(
      "GET",
      `${DEPLOYMENTS}/batch-worker`,
    );
    return body.spec.replicas ?? 1;
  };
  const count = async (selector: string): Promise<number> => {
    const promql = `count(count by (uuid) (${selector}))`;
    const answer = await fetch(`${hub.url}/api/v1/query?query=${encodeURIComponent(promql)}`);
    const { data: found } = (await answer.json()) as {
      data: { result: { value: [number, string] }[] };
    };
    return Number(found.result[0]?.value[1] ?? 0);
  };
  const settle: AutoscaleLab["settle"] = async (expected, server) => {
    await expect
      .poll(replicas, { timeout: 180_000, interval: 1_000, message: server.output().slice(-1_500) })
      .toBe(expected);
    const [owned, described] = [
      `gpu_owner_info{namespace="${NAMESPACE}"}`,
      'gpu_owner_pod_info{owner_kind="Deployment",owner_name="batch-worker",label_app_kubernetes_io_name="batch-worker"}',
    ];
    const patience = { timeout: 120_000, interval: 1_000 };
    await expect.poll(() => count(owned), patience).toBe(expected);
    await expect.poll(() => count(described), patience).toBe(expected);
  };
  return { hub, strict, setQueue, settle };
}

const STEPS = [
  [30, 3],
  // Fifty workers are requested, and there are eight GPUs: those that the workers already own count as available to
  // them.
  [500, GPUS],
  [50, 5],
] as const;

test(
  "KEDA: a Deployment follows the queue, up to the GPUs that the hub sees free or its own",
  { timeout: 900_000 },
  async (context) => {
    toolOrSkip(context, "gcc");
    await ensureBuild();
    const kubernetes = await orSkip(context, startKubernetes());
    onTestFinished(() => kubernetes.stop());
    const keda = await orSkip(context, startKeda(kubernetes));
    onTestFinished(() => keda.stop());
    const lab = await openAutoscaleLab(kubernetes);
    // The example's own object, with the hub's address and without its delays.
    const scaled = example("keda-batch-worker.yaml")
      .replaceAll("http://prometheus-operated.monitoring.svc:9090", lab.hub.url)
      .replaceAll(/(pollingInterval|cooldownPeriod): \d+/g, "$1: 1")
      .replaceAll(/stabilizationWindowSeconds: \d+/g, "stabilizationWindowSeconds: 0")
      .replace("periodSeconds: 60", "periodSeconds: 1");
    await lab.strict(SCALED_OBJECTS, parse(scaled));

    for (const [waiting, expected] of [...STEPS, [0, 0]] as const) {
      await lab.setQueue(waiting);
      await lab.settle(expected, keda);
    }
    const { body } = await kubernetes.api<{
      items: { spec: { metrics: { type: string }[] } }[];
    }>("GET", AUTOSCALERS);
    expect(body.items[0]?.spec.metrics[0]?.type).toBe("External");
  },
);

test(
  "prometheus-adapter: the HorizontalPodAutoscaler of the example does the same",
  { timeout: 900_000 },
  async (context) => {
    toolOrSkip(context, "gcc");
    await ensureBuild();
    const kubernetes = await orSkip(context, startKubernetes());
    onTestFinished(() => kubernetes.stop());
    // The example's own objects, without their delays.
    const [autoscaler, rule, adapterValues] = parseAllDocuments(
      example("hpa-queue-and-idle.yaml")
        .replaceAll(/stabilizationWindowSeconds: \d+/g, "stabilizationWindowSeconds: 0")
        .replaceAll("periodSeconds: 60", "periodSeconds: 1")
        .replace("interval: 15s", "interval: 1s"),
    ).map((document) => document.toJS() as unknown);
    const folder = mkdtempSync(path.join(tmpdir(), "gpulse-autoscale-rules-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const rules = path.join(folder, "rules.yaml");
    writeFileSync(rules, stringify((rule as { spec: unknown }).spec));
    const lab = await openAutoscaleLab(kubernetes, [`--rules=${rules}`]);
    const { data: values } = adapterValues as { data: Record<string, string> };
    const { rules: adapterRules } = parse(values["values.yaml"] ?? "") as {
      rules: { external: unknown };
    };
    const adapter = await orSkip(
      context,
      startPrometheusAdapter(
        kubernetes,
        lab.hub.url,
        stringify({ externalRules: adapterRules.external }),
      ),
    );
    onTestFinished(() => adapter.stop());
    await lab.strict(
      `/apis/monitoring.coreos.com/v1/namespaces/${NAMESPACE}/prometheusrules`,
      rule,
    );
    await lab.strict(AUTOSCALERS, autoscaler);
    // Its minimum is 1: zero requires a feature gate, or KEDA.
    for (const [waiting, expected] of [...STEPS, [0, 1]] as const) {
      await lab.setQueue(waiting);
      await lab.settle(expected, adapter);
    }
  },
);
