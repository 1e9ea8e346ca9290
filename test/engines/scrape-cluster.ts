// A small cluster as listed by its API server, for comparing the discovery of a real Prometheus and of the hub.

const meta = (name: string, version: string, more = {}) => ({
  name,
  namespace: "ns",
  uid: `u-${name}`,
  resourceVersion: version,
  ...more,
});
const tcp = (name: string, port: number) => ({ name, port, protocol: "TCP" });
const pod = (name: string, version: string, ip: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: meta(name, version, {
    labels: { app: "web", "app.kubernetes.io/part-of": "shop" },
    annotations: {
      "prometheus.io/scrape": name === "web-1" ? "true" : "false",
      "prometheus.io/port": "9090",
    },
    ownerReferences: [
      { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "u-rs", controller: true },
    ],
  }),
  spec: {
    nodeName: "n1",
    containers: [
      {
        name: "web",
        image: "web:1",
        ports: [
          { name: "http", containerPort: 8080, protocol: "TCP" },
          { name: "extra", containerPort: 8081, protocol: "TCP" },
        ],
      },
      { name: "sidecar", image: "sidecar:1" },
    ],
    initContainers: [{ name: "init", image: "init:1" }],
  },
  status: {
    phase: "Running",
    podIP: ip,
    hostIP: "127.1.0.1",
    conditions: [{ type: "Ready", status: "True" }],
    containerStatuses: [
      {
        name: "web",
        containerID: "containerd://w",
        image: "web:1",
        imageID: "",
        ready: true,
        restartCount: 0,
      },
    ],
  },
});

const ref = (name: string) => ({ kind: "Pod", name, namespace: "ns", uid: `u-${name}` });

interface Listed {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
}

const pods = [pod("web-1", "11", "127.2.0.1"), pod("web-2", "12", "127.2.0.2")];

/** By the path of their list. */
export const clusterObjects: Readonly<Record<string, readonly Listed[]>> = {
  "/api/v1/nodes": [
    {
      apiVersion: "v1",
      kind: "Node",
      metadata: {
        name: "n1",
        uid: "u-n1",
        resourceVersion: "1",
        labels: { "kubernetes.io/arch": "amd64" },
        annotations: { a: "b" },
      },
      spec: { providerID: "aws:///zone/i-1" },
      status: {
        addresses: [
          { type: "InternalIP", address: "127.1.0.1" },
          { type: "Hostname", address: "n1.local" },
        ],
        daemonEndpoints: { kubeletEndpoint: { Port: 10_250 } },
      },
    } as Listed,
  ],
  "/api/v1/pods": pods,
  "/api/v1/namespaces/ns/pods": pods,
  "/api/v1/services": [
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: meta("web", "21", { labels: { app: "web" }, annotations: { note: "x" } }),
      spec: { type: "ClusterIP", clusterIP: "127.3.0.1", ports: [tcp("http", 80)] },
    } as Listed,
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: meta("outside", "22"),
      spec: { type: "ExternalName", externalName: "outside.localhost", ports: [tcp("https", 443)] },
    } as Listed,
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: meta("balanced", "23"),
      spec: {
        type: "LoadBalancer",
        clusterIP: "127.3.0.3",
        loadBalancerIP: "127.9.0.1",
        ports: [tcp("", 80)],
      },
    } as Listed,
  ],
  "/api/v1/endpoints": [
    {
      apiVersion: "v1",
      kind: "Endpoints",
      metadata: meta("web", "31"),
      subsets: [
        {
          addresses: [{ ip: "127.2.0.1", nodeName: "n1", targetRef: ref("web-1") }],
          notReadyAddresses: [{ ip: "127.2.0.2", hostname: "two", targetRef: ref("web-2") }],
          ports: [tcp("http", 8080)],
        },
      ],
    } as Listed,
    {
      apiVersion: "v1",
      kind: "Endpoints",
      metadata: meta("elsewhere", "32"),
      subsets: [{ addresses: [{ ip: "127.9.0.2" }], ports: [tcp("", 1), tcp("b", 2)] }],
    } as Listed,
  ],
  "/apis/discovery.k8s.io/v1/endpointslices": [
    {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: meta("web-abc", "41", { labels: { "kubernetes.io/service-name": "web" } }),
      addressType: "IPv4",
      ports: [{ ...tcp("http", 8080), appProtocol: "http" }],
      endpoints: [
        {
          addresses: ["127.2.0.1"],
          conditions: { ready: true, serving: true, terminating: false },
          hostname: "one",
          nodeName: "n1",
          zone: "z1",
          targetRef: ref("web-1"),
        },
        { addresses: ["127.9.0.9"], conditions: { ready: false } },
      ],
    } as Listed,
  ],
  "/apis/networking.k8s.io/v1/ingresses": [
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: meta("shop", "51", { labels: { app: "web" } }),
      spec: {
        ingressClassName: "nginx",
        tls: [{ hosts: ["*.shop.localhost"] }],
        rules: [
          {
            host: "www.shop.localhost",
            http: {
              paths: [
                {
                  path: "/",
                  pathType: "Prefix",
                  backend: { service: { name: "web", port: { number: 80 } } },
                },
                {
                  path: "/api",
                  pathType: "Prefix",
                  backend: { service: { name: "web", port: { number: 80 } } },
                },
              ],
            },
          },
          { host: "plain.localhost" },
        ],
      },
    } as Listed,
  ],
};
