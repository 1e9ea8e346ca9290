// Nodes with GPUs in a real control plane, with a simulated kubelet for each: the scheduler places pods and allocates
// claims; this code assigns the devices of plugins, like the kubelet, and serves them through the PodResources API.

import path from "node:path";
import { parseAllDocuments } from "yaml";

import { chart, renderChart } from "../../engines/helm.ts";
import type { RunningKubernetes } from "../../engines/kubernetes.ts";
import { waitUntil } from "../../engines/wait.ts";
import {
  encodePodResources,
  type FakePod,
  replyWith,
  startKubelet,
} from "../fixtures/machine/owners-kubelet.ts";

/** Changes within this time are combined into one list. */
const GATHER_MS = 50;
export const NAMESPACE = "lab";

export interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly nodeName?: string;
    readonly containers: readonly {
      readonly name: string;
      readonly resources?: { readonly limits?: Readonly<Record<string, string>> };
    }[];
  };
  readonly status: {
    readonly phase: string;
    readonly podIP?: string;
    readonly resourceClaimStatuses?: readonly { readonly resourceClaimName?: string }[];
  };
}

interface Claim {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly status?: {
    readonly allocation?: {
      readonly devices: {
        readonly results: readonly { readonly driver: string; readonly device: string }[];
      };
    };
  };
}

export interface GpuNode {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Device plugin ids, by resource. */
  readonly plugin?: Readonly<Record<string, readonly string[]>>;
}

/** Adds the node and waits until the scheduler can use it. */
export async function addNode(kubernetes: RunningKubernetes, node: GpuNode): Promise<void> {
  const extended = Object.fromEntries(
    Object.entries(node.plugin ?? {}).map(([resource, ids]) => [resource, String(ids.length)]),
  );
  const room = { cpu: "256", memory: "2Ti", pods: "2000", ...extended };
  await kubernetes.create("/api/v1/nodes", {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name: node.name,
      labels: { "kubernetes.io/os": "linux", "kubernetes.io/hostname": node.name, ...node.labels },
    },
    status: { capacity: room, allocatable: room },
  });
  await waitUntil({ what: `node ${node.name} to be ready`, timeoutMs: 60_000 }, async () => {
    const { body } = await kubernetes.api<{
      spec: { taints?: unknown[] };
      status: { conditions?: { type: string; status: string }[] };
    }>("GET", `/api/v1/nodes/${node.name}`);
    const isReady = body.status.conditions?.some(
      ({ type, status }) => type === "Ready" && status === "True",
    );
    return isReady === true && body.spec.taints === undefined ? true : undefined;
  });
}

/** A device that a container holds: a plugin's, or one of a claim. */
export interface Holding {
  readonly pod: string;
  readonly resource: string;
  readonly device: string;
}

/** A holding and the time the kubelet listed it, in milliseconds of `performance.now`. */
export interface Allocation extends Holding {
  readonly sinceMs: number;
  /** When the first list without it was ready; undefined while the kubelet lists it. */
  untilMs?: number;
}

export interface NodeKubelet {
  /** The current holdings, from the scheduler and the kubelet's own choice of devices. */
  holdings(): readonly Holding[];
  /** Everything listed since the start. */
  allocations(): readonly Allocation[];
  close(): Promise<void>;
}

export interface KubeletOptions {
  readonly socket: string;
  readonly node: GpuNode;
  /** True to list claims only by their CDI names, like kubelets before 1.32. */
  readonly cdiOnly?: boolean;
}

/** The device side of one node's kubelet. */
export async function startNodeKubelet(
  kubernetes: RunningKubernetes,
  { socket, node, cdiOnly = false }: KubeletOptions,
): Promise<NodeKubelet> {
  const given = new Map<string, readonly Holding[]>();
  let held: readonly Holding[] = [];
  const current = new Map<string, Allocation>();
  const allocations: Allocation[] = [];
  const server = await startKubelet(socket, replyWith(encodePodResources([])));
  const stopped = new AbortController();

  const allocate = (pod: Pod): readonly Holding[] => {
    const taken = new Set([...given.values()].flat().map(({ device }) => device));
    return pod.spec.containers.flatMap(({ resources }) =>
      Object.entries(resources?.limits ?? {}).flatMap(([resource, count]) => {
        const free = (node.plugin?.[resource] ?? []).filter((id) => !taken.has(id));
        return free
          .slice(0, Number(count))
          .map((device) => ({ pod: pod.metadata.name, resource, device }));
      }),
    );
  };
  const claimed = (pod: Pod, claims: ReadonlyMap<string, Claim>): readonly Holding[] =>
    (pod.status.resourceClaimStatuses ?? []).flatMap(({ resourceClaimName = "" }) => {
      const claim = claims.get(resourceClaimName);
      const results = claim?.status?.allocation?.devices.results ?? [];
      return results.map(({ driver, device }) => ({
        pod: pod.metadata.name,
        resource: cdiOnly ? "claim" : `claim ${driver}`,
        device: cdiOnly ? `k8s.${driver}/claim=${claim?.metadata.uid}-${device}` : device,
      }));
    });
  let pods: ReadonlyMap<string, Pod> = new Map();
  let claims: ReadonlyMap<string, Claim> = new Map();
  const refresh = (): void => {
    const byName = new Map([...claims.values()].map((claim) => [claim.metadata.name, claim]));
    for (const uid of given.keys()) if (!pods.has(uid)) given.delete(uid);
    const dynamic: Holding[] = [];
    for (const pod of pods.values()) {
      const { uid } = pod.metadata;
      if (!given.has(uid)) given.set(uid, allocate(pod));
      dynamic.push(...claimed(pod, byName));
    }
    held = [...[...given.values()].flat(), ...dynamic];
    const nowMs = performance.now();
    server.reply = replyWith(encodePodResources(podsOf(held)));
    const listed = new Map(held.map((one) => [`${one.pod} ${one.device}`, one]));
    for (const [key, allocation] of current)
      if (!listed.has(key)) {
        allocation.untilMs = nowMs;
        current.delete(key);
      }
    for (const [key, holding] of listed)
      if (!current.has(key)) {
        const allocation = { ...holding, sinceMs: nowMs };
        current.set(key, allocation);
        allocations.push(allocation);
      }
  };
  let timer: NodeJS.Timeout | undefined;
  const gather = (): void => {
    timer ??= setTimeout(() => {
      timer = undefined;
      refresh();
    }, GATHER_MS);
  };
  kubernetes.mirror<Pod>(
    `${PODS}?fieldSelector=spec.nodeName%3D${node.name}`,
    (objects) => {
      pods = objects;
      gather();
    },
    stopped.signal,
  );
  kubernetes.mirror<Claim>(
    `/apis/resource.k8s.io/v1/namespaces/${NAMESPACE}/resourceclaims`,
    (objects) => {
      claims = objects;
      gather();
    },
    stopped.signal,
  );
  return {
    holdings: () => held,
    allocations: () => allocations,
    close: async () => {
      stopped.abort();
      clearTimeout(timer);
      await server.close();
    },
  };
}

function podsOf(held: readonly Holding[]): readonly FakePod[] {
  const pods = new Map<string, Record<string, string[]>>();
  for (const { pod, resource, device } of held) {
    const devices = pods.get(pod) ?? {};
    devices[resource] = [...(devices[resource] ?? []), device];
    pods.set(pod, devices);
  }
  return [...pods].map(([pod, main]) => ({ pod, namespace: NAMESPACE, containers: { main } }));
}

/** A pod with one container that requests `resources`. */
export function gpuPod(name: string, resources: unknown, spec: object = {}): unknown {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: NAMESPACE, labels: { app: "train" } },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [{ name: "main", image: "train", resources }],
      ...spec,
    },
  };
}

export const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;

/** The device class, the node's resource slice and the claim template of a DRA driver. */
export async function addClaimableDevices(
  kubernetes: RunningKubernetes,
  node: string,
  driver: string,
  devices: readonly string[],
): Promise<void> {
  const group = "/apis/resource.k8s.io/v1";
  await kubernetes.create(`${group}/deviceclasses`, {
    apiVersion: "resource.k8s.io/v1",
    kind: "DeviceClass",
    metadata: { name: node },
    spec: { selectors: [{ cel: { expression: `device.driver == "${driver}"` } }] },
  });
  await kubernetes.create(`${group}/resourceslices`, {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceSlice",
    metadata: { name: node },
    spec: {
      driver,
      nodeName: node,
      pool: { name: node, generation: 1, resourceSliceCount: 1 },
      devices: devices.map((name) => ({ name })),
    },
  });
  await kubernetes.create(`${group}/namespaces/${NAMESPACE}/resourceclaimtemplates`, {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaimTemplate",
    metadata: { name: node, namespace: NAMESPACE },
    spec: {
      spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: node } }] } },
    },
  });
}

/** The part of a pod spec that requests a device of `addClaimableDevices`. */
export const claimOf = (node: string): object => ({
  nodeSelector: { "kubernetes.io/hostname": node },
  resourceClaims: [{ name: "gpu", resourceClaimTemplateName: node }],
});

/** A token of the hub's service account with the cluster roles that the chart grants it for pod info. */
export async function hubToken(kubernetes: RunningKubernetes): Promise<string> {
  const namespace = "gpulse";
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  await kubernetes.create("/api/v1/namespaces", { metadata: { name: namespace } });
  const values = path.join(chart, "examples", "pod-info.yaml");
  for (const document of parseAllDocuments(
    await renderChart({ release: "gpulse", namespace, values }),
  )) {
    const object = document.toJS() as { kind: string } | null;
    if (object?.kind === "ServiceAccount") await kubernetes.create(accounts, object);
    if (object?.kind === "ClusterRole" || object?.kind === "ClusterRoleBinding")
      await kubernetes.create(
        `/apis/rbac.authorization.k8s.io/v1/${object.kind.toLowerCase()}s`,
        object,
      );
  }
  const { body } = await kubernetes.api<{ status: { token: string } }>(
    "POST",
    `${accounts}/gpulse-hub/token`,
    { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} },
  );
  return body.status.token;
}
