// Rules for every rendering of the chart: no more access than the vendor needs, limits, probes, a network policy.

import { isDeepStrictEqual } from "node:util";
import { beforeEach, expect, test } from "vitest";
import { stringify } from "yaml";

import { orSkip } from "../../engines/cache.ts";
import { checkManifests, kubeTools, renderChart } from "../../engines/helm.ts";
import { taintKey } from "../../src/hub/node-taints/node-api.ts";
import {
  examples,
  type Labels,
  type Manifest,
  manifestsOf,
  ofKind,
  rendered,
  selects,
  type Workload,
  workloads,
} from "./deploy-chart.ts";

interface Policy extends Manifest {
  readonly spec: {
    readonly podSelector: { readonly matchLabels: Labels };
    readonly policyTypes: readonly string[];
    readonly ingress: readonly {
      readonly ports: readonly { readonly port: string }[];
      readonly from: readonly unknown[];
    }[];
  };
}

/** Agents that may run as root, and their capabilities, by example and vendor; each with its reason. */
const ROOT: Readonly<Record<string, readonly string[]>> = {
  // Only root can use the kubelet's PodResources socket.
  "nvidia nvidia": [],
  "hpa nvidia": [],
  "hpa amd": [],
  "hpa intel": [],
  "gke nvidia": [],
  "pod-info nvidia": [],
  "pod-info amd": [],
  "pod-info intel": [],
  // Intel's utilisation is in other programs' open files.
  "intel intel": ["SYS_PTRACE", "DAC_READ_SEARCH"],
};
/** Host folders that an agent may mount, all of them read-only. */
const HOST_FOLDERS = new Set([
  "/sys",
  "/var/lib/kubelet/pod-resources",
  "/var/log/containers",
  "/home/kubernetes/bin/nvidia",
]);
/** Without a container runtime that injects the driver, only a privileged container can open the GPUs. */
const PRIVILEGED = new Set(["gke nvidia"]);

beforeEach(async (context) => {
  await orSkip(context, kubeTools());
});

const vendorOf = (workload: Workload): string => workload.metadata.labels?.["gpulse/vendor"] ?? "";

test.each(examples)(
  "in examples/%s.yaml nothing is privileged or root unless a reason is given",
  async (example) => {
    for (const workload of workloads(await rendered(example))) {
      const { spec } = workload.spec.template;
      const reason = ROOT[`${example} ${vendorOf(workload)}`];
      expect(spec.securityContext, workload.metadata.name).toMatchObject({
        runAsNonRoot: reason === undefined,
        seccompProfile: { type: "RuntimeDefault" },
      });
      expect(spec.securityContext.runAsUser === 0).toBe(reason !== undefined);
      expect(spec.hostPID ?? false).toBe(reason?.includes("SYS_PTRACE") ?? false);
      expect([spec.hostNetwork, spec.hostIPC]).toEqual([undefined, undefined]);
      for (const { securityContext } of spec.containers) {
        if (PRIVILEGED.has(`${example} ${vendorOf(workload)}`)) {
          expect(securityContext).toEqual({ privileged: true, readOnlyRootFilesystem: true });
          continue;
        }
        expect(securityContext).toMatchObject({
          privileged: false,
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
        });
        expect(securityContext.capabilities.drop).toEqual(["ALL"]);
        expect(securityContext.capabilities.add ?? []).toEqual(reason ?? []);
      }
    }
  },
);

test.each(examples)(
  "in examples/%s.yaml every host folder is a known one and read-only, and every mount has its volume",
  async (example) => {
    for (const workload of workloads(await rendered(example))) {
      const { volumes = [], containers } = workload.spec.template.spec;
      const claims = workload.kind === "StatefulSet" ? ["data"] : [];
      const names = [...volumes.map(({ name }) => name), ...claims];
      const mounts = containers.flatMap(({ volumeMounts = [] }) => volumeMounts);
      expect(mounts.map(({ name }) => name).sort()).toEqual(names.sort());
      for (const { name, hostPath } of volumes) {
        if (hostPath === undefined) continue;
        expect(HOST_FOLDERS).toContain(hostPath.path);
        expect(mounts.find((mount) => mount.name === name)?.readOnly).toBe(true);
      }
    }
  },
);

test.each(examples)(
  "in examples/%s.yaml agents stay within 200m and 256Mi and have both probes",
  async (example) => {
    const found = workloads(await rendered(example));
    expect(found.length).toBeGreaterThan(0);
    for (const workload of found) {
      const [container] = workload.spec.template.spec.containers;
      const isAgent = workload.kind === "DaemonSet";
      expect(Object.keys(container?.resources.limits ?? {}).sort()).toEqual(["cpu", "memory"]);
      if (isAgent) {
        expect(container?.resources.limits).toEqual({ cpu: "200m", memory: "256Mi" });
        expect(workload.spec.updateStrategy?.type).toBe("RollingUpdate");
      }
      const scheme = example === "tls" ? "HTTPS" : "HTTP";
      const port = isAgent ? "metrics" : "http";
      expect(container?.livenessProbe?.httpGet).toEqual({
        path: isAgent ? "/healthz" : "/-/healthy",
        port,
        scheme,
      });
      expect(container?.readinessProbe?.httpGet).toEqual({
        path: isAgent ? "/readyz" : "/-/ready",
        port,
        scheme,
      });
      expect(container?.ports).toMatchObject([
        { name: port, containerPort: isAgent ? 9400 : 9410 },
      ]);
    }
  },
);

test.each(examples)(
  "in examples/%s.yaml whatever selects pods selects those it means, and no others",
  async (example) => {
    const manifests = await rendered(example);
    const pods = workloads(manifests).map((workload) => ({
      own: workload.spec.selector.matchLabels,
      labels: workload.spec.template.metadata.labels,
      component: workload.kind === "DaemonSet" ? "agent" : "hub",
    }));
    for (const { own, labels } of pods) {
      expect(selects(own, labels)).toBe(true);
      expect(pods.filter((pod) => selects(own, pod.labels))).toHaveLength(1);
    }
    const selecting = [
      ...ofKind(manifests, "NetworkPolicy").map((one) => [
        one.metadata.name,
        (one as Policy).spec.podSelector.matchLabels,
      ]),
      ...ofKind(manifests, "Service").map((one) => [
        one.metadata.name,
        (one.spec as { selector: Labels }).selector,
      ]),
      ...[...ofKind(manifests, "PodMonitor"), ...ofKind(manifests, "ServiceMonitor")].map((one) => [
        one.metadata.name,
        (one.spec as { selector: { matchLabels: Labels } }).selector.matchLabels,
      ]),
    ] as [string, Labels][];
    for (const [name, selector] of selecting) {
      const component = name.endsWith("-hub") ? "hub" : "agent";
      expect(
        pods.filter(({ labels }) => selects(selector, labels)),
        name,
      ).toEqual(pods.filter((pod) => pod.component === component));
    }
  },
);

test.each(examples.filter((example) => example !== "minimal"))(
  "in examples/%s.yaml the network policy admits Prometheus and the hub to the agents' port, and nobody else",
  async (example) => {
    const manifests = await rendered(example);
    const policies = ofKind(manifests, "NetworkPolicy") as Policy[];
    const agents = policies.find(({ metadata }) => metadata.name === "gp-gpulse-agent");
    const hub = workloads(manifests).find(({ kind }) => kind !== "DaemonSet");
    const prometheus = {
      namespaceSelector: {},
      podSelector: { matchLabels: { "app.kubernetes.io/name": "prometheus" } },
    };
    const hubPods = { podSelector: { matchLabels: hub?.spec.selector.matchLabels } };
    expect(agents?.spec.ingress).toEqual([
      {
        ports: [{ port: "metrics", protocol: "TCP" }],
        from: hub === undefined ? [prometheus] : [prometheus, hubPods],
      },
    ]);
    const pushes = example === "tls";
    expect(agents?.spec.policyTypes).toEqual(pushes ? ["Ingress"] : ["Ingress", "Egress"]);
  },
);

test.each(examples)(
  "in examples/%s.yaml accounts may do no more than they need",
  async (example) => {
    const manifests = await rendered(example);
    const roles = [...ofKind(manifests, "Role"), ...ofKind(manifests, "ClusterRole")];
    const rules = roles.flatMap((role) =>
      (role.rules ?? []).map(
        ({ resources, verbs }) => `${role.kind} ${resources.join()} ${verbs.join()}`,
      ),
    );
    const hub = workloads(manifests).some(({ kind }) => kind !== "DaemonSet");
    const nodes = example === "hub-victoriametrics";
    expect(rules).toEqual([
      ...(hub ? ["Role pods get,list,watch"] : []),
      ...(nodes ? ["ClusterRole nodes get,list,watch"] : []),
      ...(example === "node-taints"
        ? ["ClusterRole nodes list,patch", "ClusterRole nodes/status patch"]
        : []),
      ...(example === "pod-info" ? ["ClusterRole pods get"] : []),
    ]);
    for (const { kind, spec } of workloads(manifests)) {
      if (kind === "DaemonSet") expect(spec.template.spec.automountServiceAccountToken).toBe(false);
    }
  },
);

test("NVIDIA's devices come from its runtime, and no other vendor asks for any", async () => {
  const found = workloads(await rendered("minimal")).map((workload) => ({
    vendor: vendorOf(workload),
    runtime: workload.spec.template.spec.runtimeClassName,
    variables: workload.spec.template.spec.containers
      .flatMap(({ env }) => env)
      .filter(({ name }) => name.startsWith("NVIDIA_"))
      .map(({ name, value }) => `${name}=${value}`),
  }));
  expect(found).toEqual([
    { vendor: "amd", runtime: undefined, variables: [] },
    { vendor: "intel", runtime: undefined, variables: [] },
    {
      vendor: "nvidia",
      runtime: "nvidia",
      variables: ["NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=utility"],
    },
  ]);
});

test("only the kernel's log takes a privileged container, of its own, that sees nothing else of the node", async () => {
  const set = ["agent.kernelLog.url=loki+http://loki:3100", "agent.kernelLog.secret=loki"];
  const manifests = manifestsOf(
    await renderChart({
      release: "gp",
      namespace: "gpu",
      set: [...set, "agent.vendors.sim.enabled=true"],
    }),
  );
  for (const workload of workloads(manifests)) {
    const vendor = vendorOf(workload);
    const { containers, volumes = [], securityContext } = workload.spec.template.spec;
    const [agent, kernelLog, ...others] = containers;
    expect(others).toEqual([]);
    expect(securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 10001 });
    expect(agent?.securityContext).toMatchObject({
      privileged: false,
      allowPrivilegeEscalation: false,
    });
    expect(kernelLog === undefined, vendor).toBe(vendor === "sim");
    if (kernelLog === undefined) continue;
    expect(kernelLog.args).toEqual([
      "agent",
      "--source=none",
      "--host=127.0.0.1",
      "--port=0",
      "--host-name=$(NODE_NAME)",
      "--json",
      "--kernel-log=loki+http://loki:3100",
    ]);
    expect(kernelLog.securityContext).toEqual({
      privileged: true,
      runAsNonRoot: false,
      runAsUser: 0,
      runAsGroup: 0,
      readOnlyRootFilesystem: true,
    });
    expect(Object.keys(kernelLog.resources.limits).sort()).toEqual(["cpu", "memory"]);
    expect(kernelLog.volumeMounts).toEqual([
      { name: "kmsg", mountPath: "/dev/kmsg", readOnly: true },
      { name: "kernel-log-secret", mountPath: "/etc/gpulse/kernel-log", readOnly: true },
    ]);
    expect(volumes.find(({ name }) => name === "kmsg")?.hostPath?.path).toBe("/dev/kmsg");
    expect(agent?.volumeMounts?.map(({ name }) => name) ?? []).not.toContain("kmsg");
  }
  const [policy] = ofKind(manifests, "NetworkPolicy") as Policy[];
  expect(policy?.spec.policyTypes).toEqual(["Ingress"]);
  const wrong = (
    await checkManifests(manifests.map((one) => stringify(one)).join("---\n"))
  ).flatMap(({ errors }) => errors);
  expect(wrong).toEqual([]);
});

interface NodeTerm {
  readonly matchExpressions: readonly {
    readonly key: string;
    readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
    readonly values?: readonly string[];
  }[];
}

/** The vendors whose agent is scheduled on a node with these labels. */
function agentsOn(manifests: readonly Manifest[], node: Labels): readonly string[] {
  const matches = ({ matchExpressions }: NodeTerm): boolean =>
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = node[key];
      if (operator === "Exists") return value !== undefined;
      if (operator === "DoesNotExist") return value === undefined;
      const isIn = value !== undefined && values.includes(value);
      return operator === "In" ? isIn : !isIn;
    });
  return workloads(manifests)
    .filter(({ kind }) => kind === "DaemonSet")
    .filter((workload) => {
      const { affinity } = workload.spec.template.spec as unknown as {
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: NodeTerm[] };
          };
        };
      };
      const { nodeSelectorTerms } =
        affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution;
      return nodeSelectorTerms.some(matches);
    })
    .map(vendorOf);
}

const NVIDIA_NODE = { "nvidia.com/gpu.present": "true" };
const AMD_NODE = { "feature.node.kubernetes.io/amd-gpu": "true" };
const INTEL_NODE = { "feature.node.kubernetes.io/pci-0300_8086.present": "true" };

test.each<readonly [string, Labels, readonly string[]]>([
  ["an NVIDIA node with an Intel GPU", { ...NVIDIA_NODE, ...INTEL_NODE }, ["nvidia"]],
  ["an AMD node with an Intel GPU", { ...AMD_NODE, ...INTEL_NODE }, ["amd"]],
  ["a node of all vendors", { ...NVIDIA_NODE, ...AMD_NODE, ...INTEL_NODE }, ["nvidia"]],
  ["an Intel node", INTEL_NODE, ["intel"]],
  ["GKE", { "cloud.google.com/gke-accelerator": "nvidia-l4" }, ["nvidia"]],
  ["AKS", { "kubernetes.azure.com/accelerator": "nvidia" }, ["nvidia"]],
  ["eksctl", { "k8s.amazonaws.com/accelerator": "nvidia-tesla-t4" }, ["nvidia"]],
  ["Karpenter", { "karpenter.k8s.aws/instance-gpu-manufacturer": "nvidia" }, ["nvidia"]],
  ["EKS Auto Mode with AMD", { "eks.amazonaws.com/instance-gpu-manufacturer": "amd" }, ["amd"]],
  ["AMD's node labeller", { "beta.amd.com/gpu.family.AI": "8" }, ["amd"]],
  ["a node without a GPU", { "kubernetes.io/os": "linux" }, []],
])("one agent runs on %s", async (_, node, vendors) => {
  expect(agentsOn(await rendered("minimal"), node)).toEqual(vendors);
});

test("simulated GPUs run where no vendor's agent does, and a vendor without labels has every node", async () => {
  const on = async (...set: readonly string[]): Promise<readonly Manifest[]> =>
    manifestsOf(await renderChart({ release: "gp", namespace: "gpu", set }));
  const withSim = await on("agent.vendors.sim.enabled=true");
  expect(agentsOn(withSim, { "kubernetes.io/os": "linux" })).toEqual(["sim"]);
  expect(agentsOn(withSim, NVIDIA_NODE)).toEqual(["nvidia"]);
  expect(agentsOn(withSim, INTEL_NODE)).toEqual(["intel"]);
  const everywhere = await on("agent.vendors.nvidia.nodeLabels=null");
  expect(workloads(everywhere).map(vendorOf)).toEqual(["nvidia"]);
});

test.each(examples)(
  "in examples/%s.yaml agents tolerate the taint of the hub, without which a tainted node never returns",
  async (example) => {
    for (const { kind, metadata, spec } of workloads(await rendered(example))) {
      const { tolerations = [] } = spec.template.spec as { tolerations?: readonly object[] };
      const own = { key: taintKey, operator: "Exists", effect: "NoSchedule" };
      expect(
        tolerations.some((one) => isDeepStrictEqual(one, own)),
        metadata.name,
      ).toBe(kind === "DaemonSet");
    }
  },
);

test("an agent per vendor is an option, and its series say which agent they are of", async () => {
  const set = ["agent.onePerNode=false", "hub.enabled=true", "monitoring.podMonitor.enabled=true"];
  const text = await renderChart({ release: "gp", namespace: "gpu", set });
  const mixed = { ...NVIDIA_NODE, ...INTEL_NODE };
  expect(agentsOn(manifestsOf(text), mixed)).toEqual(["intel", "nvidia"]);
  expect(text).not.toContain("--source=auto");
  expect(text.match(/__meta_kubernetes_pod_label_gpulse_vendor/g)).toHaveLength(2);
  const byNode = await renderChart({ release: "gp", namespace: "gpu", set: set.slice(1) });
  expect(byNode).not.toContain("gpulse_vendor");
  expect(byNode.match(/--source=auto/g)).toHaveLength(3);
});
