// One cluster, served by a fake API server, discovered by the built hub and by a real VictoriaMetrics (the packaged
// Prometheus is built without Kubernetes): the same targets with the same labels, also after the cluster has changed.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { type RunningHub, startHub } from "../../engines/hub.ts";
import { ensureBuild } from "../../engines/program.ts";
import { findTool, toolOrSkip } from "../../engines/tools.ts";
import {
  type RunningVictoriaMetrics,
  startVictoriaMetrics,
} from "../../engines/victoria-metrics.ts";
import { waitUntil } from "../../engines/wait.ts";
import { type ApiServer, startApiServer } from "../fixtures/sources/scrape-discovery-kubernetes.ts";
import { clusterObjects } from "./scrape-cluster.ts";
import { differenceOf, type TargetLists } from "./scrape-pair.ts";

const found = findTool("victoria-metrics");
const stops: (() => Promise<void>)[] = [];
const roles = ["node", "pod", "service", "endpoints", "endpointslice", "ingress"] as const;
let api: ApiServer;
let hub: RunningHub;
let victoriaMetrics: RunningVictoriaMetrics;

beforeAll(async () => {
  if (!("path" in found)) return;
  await ensureBuild();
  api = await startApiServer();
  stops.push(async () => api.close());
  for (const [place, objects] of Object.entries(clusterObjects)) api.lists.set(place, [...objects]);
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-kubernetes-"));
  stops.push(() => rm(folder, { recursive: true }));
  const file = path.join(folder, "prometheus.yml");
  const annotated = [
    {
      source_labels: ["__meta_kubernetes_pod_annotation_prometheus_io_scrape"],
      action: "keep",
      regex: "true",
    },
    {
      source_labels: ["__address__", "__meta_kubernetes_pod_annotation_prometheus_io_port"],
      action: "replace",
      regex: "([^:]+)(?::\\d+)?;(\\d+)",
      replacement: "$1:$2",
      target_label: "__address__",
    },
    { action: "labelmap", regex: "__meta_kubernetes_pod_label_(.+)" },
    { source_labels: ["__meta_kubernetes_namespace"], target_label: "namespace" },
  ];
  const config = {
    global: { scrape_interval: "10s", scrape_timeout: "1s" },
    scrape_configs: [
      ...roles.map((role) => ({
        job_name: role,
        kubernetes_sd_configs: [{ role, api_server: api.url }],
      })),
      {
        job_name: "annotated",
        kubernetes_sd_configs: [
          { role: "pod", api_server: api.url, namespaces: { names: ["ns"] } },
        ],
        relabel_configs: annotated,
      },
    ],
  };
  await writeFile(file, JSON.stringify(config));
  hub = await startHub({
    dataDir: path.join(folder, "data"),
    args: [`--prometheus-config=${file}`],
  });
  stops.unshift(() => hub.stop());
  victoriaMetrics = await startVictoriaMetrics(found.path, [
    `-promscrape.config=${file}`,
    "-promscrape.kubernetesSDCheckInterval=1s",
  ]);
  stops.unshift(() => victoriaMetrics.stop());
});

afterAll(async () => {
  for (const stop of stops) await stop();
});

/** Labels that VictoriaMetrics 1.79 omits or adds, compared with Prometheus's documentation. */
const theirOwn: Readonly<Record<string, RegExp>> = {
  endpoints: /_service_(cluster_ip|type)$/,
  endpointslice: /_service_(cluster_ip|type)$/,
};
/** For pod ports that are not endpoints, VictoriaMetrics omits the name of their group. */
const groupNames = /_endpoints_name$|_endpointslice_(name|address_type)$/;
const oursAlone =
  /_pod_container_(id|image|init)$|_service_(port_number|loadbalancer_ip)$|_endpointslice_endpoint_(zone|node_name|conditions_.*)$|_endpointslice_(label|labelpresent)_/;

async function targetsOf(url: string, job: string): Promise<readonly string[]> {
  const body = (await (await fetch(`${url}/api/v1/targets`)).json()) as { data: TargetLists };
  return body.data.activeTargets
    .filter(({ scrapePool }) => scrapePool === job)
    .map(({ discoveredLabels, labels }) => {
      const isEndpoint = Object.keys(discoveredLabels).some(
        (name) => name.endsWith("_port_protocol") && name.includes("_endpoint"),
      );
      const kept = Object.entries(discoveredLabels).filter(
        ([name, value]) =>
          value !== "" &&
          !oursAlone.test(name) &&
          theirOwn[job]?.test(name) !== true &&
          (isEndpoint || !groupNames.test(name)),
      );
      const inOrder = [kept, Object.entries(labels)].map((pairs) =>
        pairs.sort(([left], [right]) => (left < right ? -1 : 1)),
      );
      return JSON.stringify(inOrder);
    })
    .sort();
}

async function agreed(job: string): Promise<readonly string[]> {
  return waitUntil({ what: `both to agree on ${job}`, timeoutMs: 60_000 }, async () => {
    const [theirs, ours] = await Promise.all(
      [victoriaMetrics.url, hub.url].map((url) => targetsOf(url, job)),
    );
    const difference = differenceOf(theirs ?? [], ours ?? []);
    if (difference !== "") throw new Error(difference);
    return ours?.length === 0 ? undefined : ours;
  });
}

test.for([...roles, "annotated"])("targets of %s", async (job, context) => {
  toolOrSkip(context, "victoria-metrics");
  expect((await agreed(job)).length).toBeGreaterThan(0);
});

test("a cluster that changes changes both", async (context) => {
  toolOrSkip(context, "victoria-metrics");
  const before = await agreed("pod");
  const pods = "/api/v1/pods";
  const [first] = clusterObjects[pods] ?? [];
  const named = (name: string, resourceVersion: string, podIP = "127.2.0.1") => ({
    ...first,
    status: { podIP },
    metadata: { ...first?.metadata, name, uid: `u-${name}`, resourceVersion },
  });
  api.send(pods, "ADDED", named("added", "201", "127.2.0.7"));
  await waitUntil({ what: "both to have the new pod", timeoutMs: 60_000 }, async () =>
    (await agreed("pod")).length > before.length ? true : undefined,
  );
  api.send(pods, "DELETED", named("web-1", "202"));
  await waitUntil({ what: "both to have lost the old pod", timeoutMs: 60_000 }, async () =>
    (await agreed("pod")).length === before.length ? true : undefined,
  );
  // The endpoints role also agrees after the pod changes, although no Endpoints object has changed.
  await agreed("endpoints");
});
