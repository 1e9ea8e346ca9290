// The chart in a real API server: every example without a warning, the order of install, upgrade, rollback and
// uninstall, the restricted security level, and a hub that shows the GPUs of every node after `helm install`.

import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { parse, parseAllDocuments, stringify } from "yaml";

import { EngineMissingError } from "../../engines/cache.ts";
import { chart, kubeTools, renderChart } from "../../engines/helm.ts";
import { startHub } from "../../engines/hub.ts";
import { kubeconfigOf, type RunningKubernetes, startKubernetes } from "../../engines/kubernetes.ts";
import { type FinishedProcess, runProcess, startProcess } from "../../engines/process.ts";
import { ensureBuild, program } from "../../engines/program.ts";
import { findTool } from "../../engines/tools.ts";
import { startVictoriaMetrics } from "../../engines/victoria-metrics.ts";
import { waitUntil } from "../../engines/wait.ts";
import { taintKey } from "../../src/hub/node-taints/node-api.ts";
import { addNode, type Pod } from "./kubernetes-lab.ts";

let kubernetes: RunningKubernetes | undefined;
let missing: string | undefined;
let folder = "";

beforeAll(async () => {
  await ensureBuild();
  try {
    await kubeTools();
    kubernetes = await startKubernetes();
    await kubernetes.define(kubernetes.prometheusOperator);
  } catch (error) {
    if (!(error instanceof EngineMissingError)) throw error;
    missing = error.message;
  }
  folder = mkdtempSync(path.join(tmpdir(), "gpulse-helm-"));
}, 300_000);
afterAll(async () => {
  await kubernetes?.stop();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach((context) => {
  if (missing !== undefined) context.skip(missing);
});

function cluster(): RunningKubernetes {
  if (kubernetes === undefined) throw new Error("BUG: no cluster was started");
  return kubernetes;
}

/** Runs Helm against the cluster as the administrator; an error contains its output. */
async function helm(...args: readonly string[]): Promise<FinishedProcess> {
  return helmAs(cluster().kubeconfig, ...args);
}

async function helmAs(kubeconfig: string, ...args: readonly string[]): Promise<FinishedProcess> {
  const { helm: command } = await kubeTools();
  const env = { KUBECONFIG: kubeconfig, HELM_NO_PLUGINS: "1", HOME: folder };
  const done = await runProcess(command, args, { timeoutMs: 120_000, env });
  if (done.code !== 0) throw new Error(`helm ${args.join(" ")}: ${done.stderr}`);
  return done;
}

async function namespace(name: string, labels: Readonly<Record<string, string>> = {}) {
  await cluster().create("/api/v1/namespaces", { metadata: { name, labels } });
}

interface Items<T> {
  readonly items: readonly T[];
}

async function list<T>(at: string): Promise<readonly T[]> {
  return (await cluster().api<Items<T>>("GET", at)).body.items;
}

/** The API resources of the kinds in the chart. */
const RESOURCES: Readonly<Record<string, string>> = {
  DaemonSet: "daemonsets",
  StatefulSet: "statefulsets",
  Deployment: "deployments",
  NetworkPolicy: "networkpolicies",
  Ingress: "ingresses",
  Service: "services",
  ServiceAccount: "serviceaccounts",
  ConfigMap: "configmaps",
  Secret: "secrets",
  Role: "roles",
  RoleBinding: "rolebindings",
  ClusterRole: "clusterroles",
  ClusterRoleBinding: "clusterrolebindings",
  PodMonitor: "podmonitors",
  ServiceMonitor: "servicemonitors",
  PrometheusRule: "prometheusrules",
};
/** Mounts a service account at a pod's path, visible only to this process. */
const AS_POD = `set -eu
mount -t tmpfs tmpfs /run
mkdir -p /run/secrets/kubernetes.io/serviceaccount
cp "$1"/* /run/secrets/kubernetes.io/serviceaccount/
shift
exec "$@"`;
const CLUSTER_WIDE = new Set(["ClusterRole", "ClusterRoleBinding"]);

interface Rendered {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

const examples = readdirSync(path.join(chart, "examples"));

test.each(["", ...examples])(
  "the API server takes what examples/%s renders, without a warning",
  async (example) => {
    const name = `warn-${example.replace(/\W/g, "-") || "defaults"}`;
    await namespace(name);
    const values = example === "" ? {} : { values: path.join(chart, "examples", example) };
    const text = await renderChart({ release: "gp", namespace: name, ...values });
    const objects = parseAllDocuments(text).map((one) => one.toJS() as Rendered | null);
    let created = 0;
    for (const object of objects) {
      if (object === null) continue;
      const { kind, apiVersion } = object;
      const resource = RESOURCES[kind];
      if (resource === undefined) throw new Error(`BUG: ${kind} is not in the table`);
      const group = apiVersion === "v1" ? "/api/v1" : `/apis/${apiVersion}`;
      const place = CLUSTER_WIDE.has(kind) ? "" : `/namespaces/${name}`;
      const answer = await cluster().api(
        "POST",
        `${group}${place}/${resource}?fieldValidation=Strict`,
        object,
      );
      expect([answer.status, answer.warnings], `${kind} ${object.metadata.name}`).toEqual([
        201,
        [],
      ]);
      created++;
    }
    expect(created).toBeGreaterThan(3);
  },
);

test("install, upgrade, rollback with and without the hub, and uninstall with the data kept", async () => {
  const name = "matrix";
  await namespace(name);
  const release = ["gpulse", chart, "-n", name];
  const secrets = async (): Promise<readonly string[]> =>
    (
      await list<{ metadata: { name: string }; data?: Record<string, string> }>(
        `/api/v1/namespaces/${name}/secrets?fieldSelector=type%3DOpaque`,
      )
    ).map(({ metadata, data }) => `${metadata.name} ${data?.["password"]}`);
  const claims = async (): Promise<readonly string[]> =>
    (
      await list<{ metadata: { name: string } }>(
        `/api/v1/namespaces/${name}/persistentvolumeclaims`,
      )
    ).map(({ metadata }) => metadata.name);

  expect((await helm("install", ...release)).stdout).toContain(
    `kubectl -n ${name} get pods -l app.kubernetes.io/instance=gpulse`,
  );
  expect(await secrets()).toEqual([]);
  await helm("upgrade", ...release, "--set", "hub.enabled=true");
  const [first] = await secrets();
  expect(first).toMatch(/^gpulse-hub-auth \w+/);
  await helm("upgrade", ...release, "--reset-then-reuse-values", "--set", "hub.retention=7d");
  expect(await secrets()).toEqual([first]);
  await waitUntil({ what: "the hub's volume claim", timeoutMs: 60_000 }, async () =>
    (await claims()).length === 1 ? true : undefined,
  );
  // Removes the hub and all values; then tests each of the four kinds of rollback.
  await helm("upgrade", ...release, "--reset-values");
  expect(await secrets()).toEqual([]);
  await helm("rollback", "gpulse", "2", "-n", name);
  expect(await secrets()).toEqual([first]);
  await helm("rollback", "gpulse", "1", "-n", name);
  expect(await secrets()).toEqual([]);
  await helm("rollback", "gpulse", "3", "-n", name);
  expect(await secrets()).toEqual([first]);
  await helm("upgrade", ...release, "--set", "hub.enabled=true,hub.store=http://vm:8428");
  await helm("rollback", "gpulse", "3", "-n", name);
  expect(await secrets()).toEqual([first]);
  await helm("rollback", "gpulse", "4", "-n", name);

  await helm("rollback", "gpulse", "2", "-n", name);
  // A larger volume, in the way that the guide describes.
  const larger = [...release, "--set", "hub.enabled=true,hub.persistence.size=60Gi"];
  await expect(helm("upgrade", ...larger)).rejects.toThrow(/Forbidden|forbidden/);
  const hub = `/apis/apps/v1/namespaces/${name}/statefulsets/gpulse-hub`;
  await cluster().api("DELETE", `${hub}?propagationPolicy=Orphan`);
  await expect
    .poll(async () => (await cluster().api("GET", hub)).status, { timeout: 60_000 })
    .toBe(404);
  expect((await helm("upgrade", ...larger)).stdout).toContain("port-forward svc/gpulse-hub 9410");
  expect(await claims()).toEqual(["data-gpulse-hub-0"]);

  await helm("uninstall", "gpulse", "-n", name);
  expect(await secrets()).toEqual([]);
  expect(await claims()).toEqual(["data-gpulse-hub-0"]);
  await helm("install", ...release, "--set", "hub.enabled=true");
  expect(await claims()).toEqual(["data-gpulse-hub-0"]);
  await helm("uninstall", "gpulse", "-n", name);
}, 300_000);

test("the restricted security level takes the agents and the hub, and refuses host folders", async () => {
  const name = "restricted";
  await namespace(name, { "pod-security.kubernetes.io/enforce": "restricted" });
  await addNode(cluster(), { name: "restricted-1", labels: { "nvidia.com/gpu.present": "true" } });
  const pods = async (): Promise<number> =>
    (await list<Pod>(`/api/v1/namespaces/${name}/pods`)).length;
  const release = ["gpulse", chart, "-n", name, "--set", "hub.enabled=true"];
  await helm("install", ...release, "--set", "agent.sysfs=");
  await waitUntil({ what: "the agent's and the hub's pod", timeoutMs: 60_000 }, async () =>
    (await pods()) === 2 ? true : undefined,
  );
  await helm("upgrade", ...release);
  const refused = await waitUntil(
    { what: "the refusal of the host's /sys", timeoutMs: 60_000 },
    async () =>
      (await list<{ message: string }>(`/api/v1/namespaces/${name}/events`)).find(({ message }) =>
        message.includes("violates PodSecurity"),
      ),
  );
  expect(refused.message).toContain("hostPath");
  await helm("uninstall", "gpulse", "-n", name);
}, 300_000);

test("NVIDIA's pods are created with and without the RuntimeClass nvidia", async () => {
  const name = "runtime-class";
  await namespace(name);
  await addNode(cluster(), { name: "class-1", labels: { "k8s.amazonaws.com/accelerator": "t4" } });
  const classes = async (): Promise<readonly (string | undefined)[]> =>
    (await list<Pod>(`/api/v1/namespaces/${name}/pods`))
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ spec }) => (spec as { runtimeClassName?: string }).runtimeClassName);
  await helm("install", "gpulse", chart, "-n", name);
  await expect.poll(classes, { timeout: 60_000 }).toContain(undefined);
  await cluster().create("/apis/node.k8s.io/v1/runtimeclasses", {
    apiVersion: "node.k8s.io/v1",
    kind: "RuntimeClass",
    metadata: { name: "nvidia" },
    handler: "nvidia",
  });
  onTestFinished(
    async () => void (await cluster().api("DELETE", "/apis/node.k8s.io/v1/runtimeclasses/nvidia")),
  );
  await helm("upgrade", "gpulse", chart, "-n", name);
  await expect.poll(classes, { timeout: 60_000 }).toContain("nvidia");
  await helm("uninstall", "gpulse", "-n", name);
}, 300_000);

test("a node with GPUs of two vendors gets one agent, and an agent per vendor on request", async () => {
  const name = "two-vendors";
  await namespace(name);
  const labels = {
    "nvidia.com/gpu.present": "true",
    "intel.feature.node.kubernetes.io/gpu": "true",
  };
  await addNode(cluster(), { name: "mixed-1", labels });
  // The hub took this node out of service: it has to keep, and to get, its agent.
  const taints = [{ key: taintKey, effect: "NoSchedule" }];
  await cluster().api("PATCH", "/api/v1/nodes/mixed-1", { spec: { taints } });
  const vendors = async (): Promise<readonly string[]> =>
    (await list<Pod>(`/api/v1/namespaces/${name}/pods?fieldSelector=spec.nodeName%3Dmixed-1`))
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata }) => /-(nvidia|amd|intel)-/.exec(metadata.name)?.[1] ?? metadata.name)
      .sort();
  /** Resolves when the controller has processed all DaemonSets. */
  const settled = async (): Promise<void> => {
    const all = `/apis/apps/v1/namespaces/${name}/daemonsets`;
    await waitUntil({ what: "the DaemonSets' pods", timeoutMs: 60_000 }, async () => {
      const sets = await list<{
        metadata: { generation: number };
        status: {
          observedGeneration?: number;
          desiredNumberScheduled: number;
          numberReady: number;
        };
      }>(all);
      const isDone = sets.every(
        ({ metadata, status }) =>
          status.observedGeneration === metadata.generation &&
          status.numberReady === status.desiredNumberScheduled,
      );
      return sets.length === 3 && isDone ? true : undefined;
    });
  };
  await helm("install", "gpulse", chart, "-n", name);
  await settled();
  expect(await vendors()).toEqual(["nvidia"]);
  await helm("upgrade", "gpulse", chart, "-n", name, "--set", "agent.onePerNode=false");
  await settled();
  await expect.poll(vendors, { timeout: 60_000 }).toEqual(["intel", "nvidia"]);
  await helm("uninstall", "gpulse", "-n", name);
}, 300_000);

test("an administrator of one namespace installs the chart with a given RuntimeClass", async () => {
  const name = "one-namespace";
  await namespace(name);
  const account = "deployer";
  await cluster().create(`/api/v1/namespaces/${name}/serviceaccounts`, {
    metadata: { name: account },
  });
  await cluster().create(`/apis/rbac.authorization.k8s.io/v1/namespaces/${name}/rolebindings`, {
    metadata: { name: account },
    subjects: [{ kind: "ServiceAccount", name: account, namespace: name }],
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "admin" },
  });
  const kubeconfig = path.join(folder, "deployer.kubeconfig");
  const { url, caFile } = cluster();
  await writeFile(kubeconfig, kubeconfigOf(url, caFile, await tokenOf(name, account)));
  const install = ["install", "gpulse", chart, "-n", name, "--set", "hub.enabled=true"];
  await expect(helmAs(kubeconfig, ...install)).rejects.toThrow(/runtimeclasses.* is forbidden/);
  await helmAs(kubeconfig, ...install, "--set", "agent.vendors.nvidia.runtimeClassName=nvidia");
  await helmAs(kubeconfig, "uninstall", "gpulse", "-n", name);
}, 300_000);

/** A token of the service account, as in its pod. */
async function tokenOf(name: string, account: string): Promise<string> {
  const { body } = await cluster().api<{ status: { token: string } }>(
    "POST",
    `/api/v1/namespaces/${name}/serviceaccounts/${account}/token`,
    { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} },
  );
  return body.status.token;
}

/** The example for pods with annotations in Prometheus's documentation. */
const ANNOTATED_JOB = {
  job_name: "annotated",
  relabel_configs: [
    {
      source_labels: ["__meta_kubernetes_pod_annotation_prometheus_io_scrape"],
      action: "keep",
      regex: "true",
    },
    {
      source_labels: ["__meta_kubernetes_pod_annotation_prometheus_io_path"],
      action: "replace",
      regex: "(.+)",
      target_label: "__metrics_path__",
    },
    {
      source_labels: ["__address__", "__meta_kubernetes_pod_annotation_prometheus_io_port"],
      action: "replace",
      regex: "([^:]+)(?::\\d+)?;(\\d+)",
      replacement: "$1:$2",
      target_label: "__address__",
    },
  ],
};

/** Runs deploy/prometheus/kubernetes.yml in a scraper with an account that may read the pods of the agents' namespace. */
async function expectStandaloneScrape(
  name: string,
  nodes: readonly string[],
  victoriaMetrics: string,
): Promise<void> {
  const account = "standalone";
  const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${name}`;
  const rules = [{ apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "watch"] }];
  const subjects = [{ kind: "ServiceAccount", name: account, namespace: name }];
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: account };
  const metadata = { name: account };
  await cluster().create(`/api/v1/namespaces/${name}/serviceaccounts`, { metadata });
  await cluster().create(`${rbac}/roles`, { metadata, rules });
  await cluster().create(`${rbac}/rolebindings`, { metadata, subjects, roleRef });
  const access = {
    api_server: cluster().url,
    tls_config: { ca_file: cluster().caFile },
    authorization: { credentials: await tokenOf(name, account) },
  };
  const example = new URL("../../deploy/prometheus/kubernetes.yml", import.meta.url);
  const { scrape_configs: jobs } = parse(
    (await readFile(example, "utf8")).replace("names: [gpulse]", `names: [${name}]`),
  ) as { scrape_configs: { kubernetes_sd_configs: object[] }[] };
  const pods = { role: "pod", namespaces: { names: [name] } };
  const config = {
    global: { scrape_interval: "1s" },
    scrape_configs: [
      ...jobs.map((job) => ({
        ...job,
        scrape_interval: "1s",
        kubernetes_sd_configs: job.kubernetes_sd_configs.map((one) => ({ ...one, ...access })),
      })),
      { ...ANNOTATED_JOB, kubernetes_sd_configs: [{ ...pods, ...access }] },
    ],
  };
  const file = path.join(folder, "standalone.yml");
  await writeFile(file, stringify(config));
  const scraper = await startVictoriaMetrics(victoriaMetrics, [`-promscrape.config=${file}`]);
  onTestFinished(() => scraper.stop());
  const query = async (promql: string): Promise<readonly string[]> => {
    const answer = await fetch(`${scraper.url}/api/v1/query?query=${encodeURIComponent(promql)}`);
    const { data } = (await answer.json()) as {
      data: { result: { metric: Record<string, string>; value: [number, string] }[] };
    };
    return data.result
      .map(({ metric, value }) => `${metric["instance"] ?? metric["host"]} ${value[1]}`)
      .sort();
  };
  const patience = { timeout: 60_000 };
  await expect
    .poll(() => query('up{job="gpulse"}'), patience)
    .toEqual(nodes.map((node) => `${node}:9400 1`));
  for (const job of ["gpulse", "annotated"])
    await expect
      .poll(() => query(`count by (host) (gpu_up{job="${job}"})`), patience)
      .toEqual(nodes.map((node) => `${node} 4`));
}

test("from helm install to a hub that shows the GPUs of every node", async () => {
  const name = "fleet";
  const nodes = ["fleet-1", "fleet-2", "fleet-3"];
  await namespace(name);
  for (const node of nodes) await addNode(cluster(), { name: node, labels: { fleet: "yes" } });
  const values = path.join(chart, "examples", "sim.yaml");
  const only = "agent.vendors.sim.nodeLabels[0].key=fleet";
  const annotated = path.join(chart, "examples", "prometheus.yaml");
  await helm("install", "gpulse", chart, "-n", name, "-f", values, "-f", annotated, "--set", only);

  // Runs a real agent at each pod's address, with the chart's arguments.
  const pods = await waitUntil({ what: "an agent on each node", timeoutMs: 90_000 }, async () => {
    const found = await list<Pod>(
      `/api/v1/namespaces/${name}/pods?labelSelector=app.kubernetes.io%2Fcomponent%3Dagent`,
    );
    const running = found.filter(
      ({ status }) => status.phase === "Running" && status.podIP !== undefined,
    );
    return running.length === nodes.length ? running : undefined;
  });
  expect(new Set(pods.map(({ spec }) => spec.nodeName))).toEqual(new Set(nodes));
  for (const { spec, status } of pods) {
    const [container] = spec.containers as unknown as readonly { args: readonly string[] }[];
    const args = (container?.args ?? []).map((one) =>
      one.replace("$(NODE_NAME)", spec.nodeName ?? ""),
    );
    const agent = startProcess(
      process.execPath,
      [program, ...args, "--host", status.podIP ?? "", "--port", "9400"],
      { name: `agent of ${spec.nodeName}` },
    );
    onTestFinished(async () => void (await agent.stop()));
    await agent.waitForUrl(`http://${status.podIP}:9400/readyz`, 60_000);
  }

  // Runs the hub with the chart's own scrape configuration and its service account's token, as in its pod.
  const { body: config } = await cluster().api<{ data: Record<string, string> }>(
    "GET",
    `/api/v1/namespaces/${name}/configmaps/gpulse-hub`,
  );
  const account = path.join(folder, "account");
  await mkdir(account);
  await writeFile(path.join(account, "token"), await tokenOf(name, "gpulse-hub"));
  await writeFile(path.join(account, "namespace"), name);
  await copyFile(cluster().caFile, path.join(account, "ca.crt"));
  const file = path.join(folder, "prometheus.yml");
  const scrapes = config.data["prometheus.yml"] ?? "";
  await writeFile(file, scrapes.replaceAll(": 15s", ": 1s"));
  const data = path.join(folder, "hub-data");
  await mkdir(data);
  const { hostname, port } = new URL(cluster().url);
  const hub = await startHub({
    dataDir: data,
    args: ["--prometheus-config", file],
    env: { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port },
    under: ["unshare", "--mount", "--propagation", "private", "sh", "-c", AS_POD, "sh", account],
  });
  onTestFinished(() => hub.stop());
  const query = async (promql: string): Promise<readonly string[]> => {
    const answer = await fetch(`${hub.url}/api/v1/query?query=${encodeURIComponent(promql)}`);
    const { data: found } = (await answer.json()) as {
      data: { result: { metric: Record<string, string>; value: [number, string] }[] };
    };
    return found.result
      .map(({ metric, value }) => `${metric["host"] ?? metric["instance"]} ${value[1]}`)
      .sort();
  };
  await expect
    .poll(() => query("count by (host) (gpu_up)"), { timeout: 60_000 })
    .toEqual(nodes.map((node) => `${node} 4`));
  expect(await query('up{job="gpulse"}')).toEqual(nodes.map((node) => `${node}:9400 1`));

  // Runs a standalone scraper, with the job from the guide and with the one that uses annotations.
  const victoriaMetrics = findTool("victoria-metrics");
  if ("path" in victoriaMetrics) await expectStandaloneScrape(name, nodes, victoriaMetrics.path);

  // The agents' service account has no permissions at all.
  const token = await tokenOf(name, "gpulse-agent");
  const denied = await cluster().api("GET", `/api/v1/namespaces/${name}/pods`, undefined, token);
  expect(denied.status).toBe(403);
  await helm("uninstall", "gpulse", "-n", name);
}, 300_000);
