import { expect, test } from "vitest";
import {
  endpointsRole,
  ingressRole,
  matchesHost,
  nodeRole,
  podRole,
  serviceRole,
} from "./roles.ts";
import { endpointsliceRole } from "./endpointslice.ts";
import { TargetGroupIndex } from "./target-group-index.ts";
import type { KubeEndpoints, KubeObject, Resource } from "./objects.ts";

const m = "__meta_kubernetes_";
const meta = (name: string, more = {}) => ({ name, namespace: "ns", ...more });
const node = {
  metadata: { name: "n1", labels: { "kubernetes.io/arch": "amd64" }, annotations: { a: "b" } },
  spec: { providerID: "aws:///x" },
  status: {
    addresses: [
      { type: "Hostname", address: "n1.local" },
      { type: "InternalIP", address: "10.1.0.1" },
      { type: "InternalIP", address: "10.1.0.2" },
    ],
    daemonEndpoints: { kubeletEndpoint: { Port: 10_250 } },
  },
};
const nodeLabels = {
  [`${m}node_name`]: "n1",
  [`${m}node_provider_id`]: "aws:///x",
  [`${m}node_label_kubernetes_io_arch`]: "amd64",
  [`${m}node_labelpresent_kubernetes_io_arch`]: "true",
  [`${m}node_annotation_a`]: "b",
  [`${m}node_annotationpresent_a`]: "true",
};
const pod = {
  metadata: meta("p", {
    uid: "u1",
    labels: { app: "x" },
    ownerReferences: [{ kind: "ReplicaSet", name: "rs", controller: true }],
  }),
  spec: {
    nodeName: "n1",
    containers: [
      { name: "main", image: "i:1", ports: [{ name: "http", containerPort: 80, protocol: "TCP" }] },
      { name: "side", image: "s:1" },
    ],
    initContainers: [{ name: "init", image: "b:1", ports: [{ containerPort: 81 }] }],
  },
  status: {
    podIP: "10.2.0.1",
    hostIP: "10.1.0.1",
    phase: "Running",
    conditions: [{ type: "Ready", status: "True" }],
    containerStatuses: [{ name: "main", containerID: "containerd://1" }],
  },
};
const podLabels = {
  [`${m}pod_name`]: "p",
  [`${m}pod_ip`]: "10.2.0.1",
  [`${m}pod_ready`]: "true",
  [`${m}pod_phase`]: "Running",
  [`${m}pod_node_name`]: "n1",
  [`${m}pod_host_ip`]: "10.1.0.1",
  [`${m}pod_uid`]: "u1",
  [`${m}pod_controller_kind`]: "ReplicaSet",
  [`${m}pod_controller_name`]: "rs",
  [`${m}pod_label_app`]: "x",
  [`${m}pod_labelpresent_app`]: "true",
};
const main = {
  [`${m}pod_container_name`]: "main",
  [`${m}pod_container_image`]: "i:1",
  [`${m}pod_container_init`]: "false",
  [`${m}pod_container_port_name`]: "http",
  [`${m}pod_container_port_number`]: "80",
  [`${m}pod_container_port_protocol`]: "TCP",
};
const init = {
  [`${m}pod_container_name`]: "init",
  [`${m}pod_container_image`]: "b:1",
  [`${m}pod_container_init`]: "true",
  [`${m}pod_container_port_name`]: "",
  [`${m}pod_container_port_number`]: "81",
  [`${m}pod_container_port_protocol`]: "",
};
const service = {
  metadata: meta("svc", { annotations: { "prometheus.io/scrape": "true" } }),
  spec: {
    type: "ClusterIP",
    clusterIP: "10.3.0.1",
    ports: [{ name: "http", port: 80, protocol: "TCP" }],
  },
};
const serviceLabels = {
  [`${m}service_name`]: "svc",
  [`${m}service_annotation_prometheus_io_scrape`]: "true",
  [`${m}service_annotationpresent_prometheus_io_scrape`]: "true",
};

function groupsOf(
  role: { readonly resource: Resource },
  objects: Partial<Record<Resource, readonly KubeObject[]>>,
  attachNodes = false,
) {
  const book = new TargetGroupIndex(role, attachNodes);
  for (const [kind, list] of Object.entries(objects)) book.list(kind as Resource, "", list);
  return book.groups();
}

test("a node is scraped at its kubelet, by its name", () => {
  expect(groupsOf(nodeRole, { node: [node] })).toEqual([
    {
      source: "node/n1",
      targets: [
        {
          __address__: "10.1.0.1:10250",
          instance: "n1",
          [`${m}node_address_Hostname`]: "n1.local",
          [`${m}node_address_InternalIP`]: "10.1.0.1",
        },
      ],
      labels: nodeLabels,
    },
  ]);
});

test("a pod is a target per port, and per container without ports", () => {
  expect(groupsOf(podRole, { pod: [pod] })).toEqual([
    {
      source: "pod/ns/p",
      targets: [
        { __address__: "10.2.0.1:80", [`${m}pod_container_id`]: "containerd://1", ...main },
        {
          __address__: "10.2.0.1",
          [`${m}pod_container_id`]: "",
          [`${m}pod_container_name`]: "side",
          [`${m}pod_container_image`]: "s:1",
          [`${m}pod_container_init`]: "false",
        },
        { __address__: "10.2.0.1:81", [`${m}pod_container_id`]: "", ...init },
      ],
      labels: { ...podLabels, [`${m}namespace`]: "ns" },
    },
  ]);
});

test("a pod gets its node's labels where they are asked for", () => {
  const [group] = groupsOf(podRole, { pod: [pod], node: [node] }, true) ?? [];
  expect(group?.labels).toMatchObject(nodeLabels);
});

test("a pod without an address has no targets", () => {
  const starting = { ...pod, status: {} };
  expect(groupsOf(podRole, { pod: [starting] })?.[0]?.targets).toEqual([]);
});

test("a service is a target per port, at its name in the cluster", () => {
  expect(groupsOf(serviceRole, { service: [service] })).toEqual([
    {
      source: "svc/ns/svc",
      targets: [
        {
          __address__: "svc.ns.svc:80",
          [`${m}service_port_name`]: "http",
          [`${m}service_port_number`]: "80",
          [`${m}service_port_protocol`]: "TCP",
          [`${m}service_type`]: "ClusterIP",
          [`${m}service_cluster_ip`]: "10.3.0.1",
        },
      ],
      labels: { ...serviceLabels, [`${m}namespace`]: "ns" },
    },
  ]);
});

const endpoints = {
  metadata: meta("svc"),
  subsets: [
    {
      addresses: [
        { ip: "10.2.0.1", nodeName: "n1", targetRef: { kind: "Pod", namespace: "ns", name: "p" } },
      ],
      notReadyAddresses: [{ ip: "10.2.0.9", hostname: "h9" }],
      ports: [{ name: "http", port: 80, protocol: "TCP" }],
    },
  ],
};
const endpointPort = { [`${m}endpoint_port_name`]: "http", [`${m}endpoint_port_protocol`]: "TCP" };

test("endpoints have the labels of their service and pods, and the pods' other ports", () => {
  const objects = { endpoints: [endpoints], service: [service], pod: [pod] };
  expect(groupsOf(endpointsRole, objects)).toEqual([
    {
      source: "endpoints/ns/svc",
      targets: [
        {
          __address__: "10.2.0.1:80",
          ...endpointPort,
          [`${m}endpoint_ready`]: "true",
          [`${m}endpoint_node_name`]: "n1",
          [`${m}endpoint_address_target_kind`]: "Pod",
          [`${m}endpoint_address_target_name`]: "p",
          ...podLabels,
          ...main,
        },
        {
          __address__: "10.2.0.9:80",
          ...endpointPort,
          [`${m}endpoint_ready`]: "false",
          [`${m}endpoint_hostname`]: "h9",
        },
        { __address__: "10.2.0.1:81", ...init, ...podLabels },
      ],
      labels: { [`${m}namespace`]: "ns", [`${m}endpoints_name`]: "svc", ...serviceLabels },
    },
  ]);
});

test("a pod or service that comes later, or changes, changes the endpoints' group", () => {
  const book = new TargetGroupIndex(endpointsRole, false);
  book.list("endpoints", "", [endpoints]);
  expect(book.groups()?.[0]?.labels).not.toHaveProperty(`${m}service_name`);
  expect(book.groups()).toBeUndefined();
  book.put("service", "", service);
  expect(book.groups()?.[0]?.labels).toMatchObject(serviceLabels);
  book.put("pod", "", pod);
  expect(book.groups()?.[0]?.targets[0]).toMatchObject(podLabels);
});

test("a pod that goes changes its endpoints only when they say so themselves", () => {
  const book = new TargetGroupIndex(endpointsRole, false);
  book.list("endpoints", "", [endpoints]);
  book.list("pod", "", [pod]);
  expect(book.groups()?.[0]?.targets[0]).toMatchObject(podLabels);
  book.remove("pod", "", pod);
  expect(book.groups()).toBeUndefined();
  const emptied: KubeEndpoints = { ...endpoints, subsets: [] };
  book.put("endpoints", "", emptied);
  expect(book.groups()?.[0]?.targets).toEqual([]);
});

test("slices of endpoints say what endpoints do, in their own words", () => {
  const slice = {
    metadata: meta("svc-1", { labels: { "kubernetes.io/service-name": "svc" } }),
    addressType: "IPv4",
    ports: [{ name: "http", port: 80, protocol: "TCP", appProtocol: "h2c" }],
    endpoints: [
      {
        addresses: ["10.2.0.1"],
        conditions: { ready: true, serving: true, terminating: false },
        nodeName: "n1",
        zone: "z",
        deprecatedTopology: { "topology/zone": "z" },
        targetRef: { kind: "Pod", namespace: "ns", name: "p" },
      },
    ],
  };
  const objects = { endpointslice: [slice], service: [service], pod: [pod], node: [node] };
  const s = `${m}endpointslice_`;
  expect(groupsOf(endpointsliceRole, objects, true)).toEqual([
    {
      source: "endpointslice/ns/svc-1",
      targets: [
        {
          __address__: "10.2.0.1:80",
          [`${s}port_name`]: "http",
          [`${s}port_protocol`]: "TCP",
          [`${s}port`]: "80",
          [`${s}port_app_protocol`]: "h2c",
          [`${s}endpoint_conditions_ready`]: "true",
          [`${s}endpoint_conditions_serving`]: "true",
          [`${s}endpoint_conditions_terminating`]: "false",
          [`${s}endpoint_node_name`]: "n1",
          [`${s}endpoint_zone`]: "z",
          [`${s}endpoint_topology_topology_zone`]: "z",
          [`${s}endpoint_topology_present_topology_zone`]: "true",
          [`${s}address_target_kind`]: "Pod",
          [`${s}address_target_name`]: "p",
          ...nodeLabels,
          ...podLabels,
          ...main,
        },
        { __address__: "10.2.0.1:81", ...init, ...podLabels },
      ],
      labels: {
        [`${m}namespace`]: "ns",
        [`${s}name`]: "svc-1",
        [`${s}address_type`]: "IPv4",
        [`${s}label_kubernetes_io_service_name`]: "svc",
        [`${s}labelpresent_kubernetes_io_service_name`]: "true",
        ...serviceLabels,
      },
    },
  ]);
});

test("an ingress is a target per path, secure where a certificate covers its host", () => {
  const ingress = {
    metadata: meta("in"),
    spec: {
      ingressClassName: "nginx",
      tls: [{ hosts: ["*.example.com"] }],
      rules: [
        { host: "a.example.com", http: { paths: [{ path: "/x" }, { path: "" }] } },
        { host: "b.other.com" },
      ],
    },
  };
  const at = (host: string, scheme: string, path: string) => ({
    __address__: host,
    [`${m}ingress_scheme`]: scheme,
    [`${m}ingress_host`]: host,
    [`${m}ingress_path`]: path,
  });
  expect(groupsOf(ingressRole, { ingress: [ingress] })).toEqual([
    {
      source: "ingress/ns/in",
      targets: [
        at("a.example.com", "https", "/x"),
        at("a.example.com", "https", "/"),
        at("b.other.com", "http", "/"),
      ],
      labels: {
        [`${m}namespace`]: "ns",
        [`${m}ingress_name`]: "in",
        [`${m}ingress_class_name`]: "nginx",
      },
    },
  ]);
});

test.for([
  ["*.example.com", "a.example.com", true],
  ["*.example.com", "example.com", false],
  ["*.example.com", "a.b.example.com", false],
  ["a.example.com", "a.example.com", true],
] as const)("a certificate of %s covers %s: %s", ([pattern, host, want]) => {
  expect(matchesHost(pattern, host)).toBe(want);
});
