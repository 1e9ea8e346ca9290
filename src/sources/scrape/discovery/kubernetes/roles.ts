/** The roles of Kubernetes discovery: how an object becomes a target group, with the labels that Prometheus defines. */
import type { DiscoveredGroup, TargetLabels } from "../group.ts";
import { joinHostPort } from "../../targets/target.ts";
import { EndpointTargets } from "./endpoint-targets.ts";
import {
  containerLabels,
  containersOf,
  nodeLabels,
  objectLabels,
  podLabels,
  portLabels,
  prefix,
  sanitize,
  serviceLabels,
  attachedNode,
  type DiscoveryRole,
  type RelatedObjects,
} from "./labels.ts";
import {
  type EndpointAddress,
  keyOf,
  type KubeEndpoints,
  type KubeIngress,
  type KubeNode,
  type KubePod,
  type KubeService,
} from "./objects.ts";

export const endpointsRole: DiscoveryRole<"endpoints"> = {
  resource: "endpoints",
  beside: ["service", "pod"],
  build: buildEndpointsGroup,
};

function buildEndpointsGroup(endpoints: KubeEndpoints, beside: RelatedObjects): DiscoveredGroup {
  const { metadata, subsets } = endpoints;
  const made = new EndpointTargets(beside);
  for (const { ports = [], addresses = [], notReadyAddresses = [] } of subsets ?? []) {
    for (const { name = "", port = 0, protocol = "" } of ports) {
      const add = (address: EndpointAddress, ready: "true" | "false"): void =>
        made.add(
          {
            __address__: joinHostPort(address.ip ?? "", port),
            [`${prefix}endpoint_port_name`]: name,
            [`${prefix}endpoint_port_protocol`]: protocol,
            [`${prefix}endpoint_ready`]: ready,
            ...addressLabels(address),
            ...attachedNode(beside, nodeOf(address)),
          },
          address.targetRef,
          port,
        );
      for (const address of addresses) add(address, "true");
      for (const address of notReadyAddresses) add(address, "false");
    }
  }
  made.addOtherPorts();
  const service = beside.get("service", keyOf(endpoints));
  return {
    source: `endpoints/${keyOf(endpoints)}`,
    targets: made.targets,
    labels: {
      [`${prefix}namespace`]: metadata?.namespace ?? "",
      [`${prefix}endpoints_name`]: metadata?.name ?? "",
      ...objectLabels("endpoints", endpoints),
      ...(service === undefined ? {} : serviceLabels(service)),
    },
  };
}

function addressLabels({ targetRef, nodeName, hostname }: EndpointAddress): TargetLabels {
  return {
    ...(targetRef === undefined
      ? {}
      : {
          [`${prefix}endpoint_address_target_kind`]: targetRef.kind ?? "",
          [`${prefix}endpoint_address_target_name`]: targetRef.name ?? "",
        }),
    ...(nodeName === undefined ? {} : { [`${prefix}endpoint_node_name`]: nodeName }),
    ...(hostname === undefined ? {} : { [`${prefix}endpoint_hostname`]: hostname }),
  };
}

const nodeOf = ({ nodeName, targetRef }: EndpointAddress): string | undefined =>
  nodeName ?? (targetRef?.kind === "Node" ? targetRef.name : undefined);

export const serviceRole: DiscoveryRole<"service"> = {
  resource: "service",
  beside: [],
  build: buildServiceGroup,
};

function buildServiceGroup(service: KubeService): DiscoveredGroup {
  const { metadata, spec } = service;
  const name = metadata?.name ?? "";
  const namespace = metadata?.namespace ?? "";
  const type = spec?.type ?? "";
  const targets = (spec?.ports ?? []).map((port): TargetLabels => {
    const number = String(port.port ?? 0);
    return {
      __address__: joinHostPort(`${name}.${namespace}.svc`, number),
      [`${prefix}service_port_name`]: port.name ?? "",
      [`${prefix}service_port_number`]: number,
      [`${prefix}service_port_protocol`]: port.protocol ?? "",
      [`${prefix}service_type`]: type,
      ...(type === "ExternalName"
        ? { [`${prefix}service_external_name`]: spec?.externalName ?? "" }
        : { [`${prefix}service_cluster_ip`]: spec?.clusterIP ?? "" }),
      ...(type === "LoadBalancer"
        ? { [`${prefix}service_loadbalancer_ip`]: spec?.loadBalancerIP ?? "" }
        : {}),
    };
  });
  return {
    source: `svc/${namespace}/${name}`,
    targets,
    labels: { ...serviceLabels(service), [`${prefix}namespace`]: namespace },
  };
}

export const ingressRole: DiscoveryRole<"ingress"> = {
  resource: "ingress",
  beside: [],
  build: buildIngressGroup,
};

function buildIngressGroup(ingress: KubeIngress): DiscoveredGroup {
  const { metadata, spec } = ingress;
  const tlsHosts = (spec?.tls ?? []).flatMap(({ hosts }) => hosts ?? []);
  const targets = (spec?.rules ?? []).flatMap(({ host = "", http }): TargetLabels[] => {
    const secure = tlsHosts.some((pattern) => matchesHost(pattern, host));
    const paths = http?.paths?.map(({ path }) => (path === undefined || path === "" ? "/" : path));
    return (paths === undefined || paths.length === 0 ? ["/"] : paths).map((path) => ({
      __address__: host,
      [`${prefix}ingress_scheme`]: secure ? "https" : "http",
      [`${prefix}ingress_host`]: host,
      [`${prefix}ingress_path`]: path,
    }));
  });
  return {
    source: `ingress/${keyOf(ingress)}`,
    targets,
    labels: {
      [`${prefix}namespace`]: metadata?.namespace ?? "",
      [`${prefix}ingress_name`]: metadata?.name ?? "",
      ...objectLabels("ingress", ingress),
      ...(spec?.ingressClassName === undefined
        ? {}
        : { [`${prefix}ingress_class_name`]: spec.ingressClassName }),
    },
  };
}

/** `*.example.com` matches one subdomain level, as in a certificate. */
export function matchesHost(pattern: string, host: string): boolean {
  if (pattern === host) return true;
  const wanted = pattern.split(".");
  const parts = host.split(".");
  return (
    wanted.length === parts.length &&
    wanted[0] === "*" &&
    wanted.slice(1).every((part, at) => part === parts[at + 1])
  );
}

/** The order of preference of a node's address types. */
const nodeAddressTypes = [
  "InternalIP",
  "InternalDNS",
  "ExternalIP",
  "ExternalDNS",
  "LegacyHostIP",
  "Hostname",
];

export const nodeRole: DiscoveryRole<"node"> = {
  resource: "node",
  beside: [],
  build: buildNodeGroup,
};

function buildNodeGroup(node: KubeNode): DiscoveredGroup | undefined {
  const first: Record<string, string> = {};
  for (const { type = "", address = "" } of node.status?.addresses ?? []) first[type] ??= address;
  const kind = nodeAddressTypes.find((type) => first[type] !== undefined);
  if (kind === undefined) return undefined;
  const port = node.status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
  const addresses: TargetLabels = Object.fromEntries(
    Object.entries(first).map(([type, address]) => [
      sanitize(`${prefix}node_address_${type}`),
      address,
    ]),
  );
  return {
    source: `node/${node.metadata?.name ?? ""}`,
    targets: [
      {
        __address__: joinHostPort(first[kind] ?? "", port),
        instance: node.metadata?.name ?? "",
        ...addresses,
      },
    ],
    labels: nodeLabels(node),
  };
}

export const podRole: DiscoveryRole<"pod"> = { resource: "pod", beside: [], build: buildPodGroup };

function buildPodGroup(pod: KubePod, beside: RelatedObjects): DiscoveredGroup {
  const { metadata, spec, status } = pod;
  const source = `pod/${metadata?.namespace ?? ""}/${metadata?.name ?? ""}`;
  const ip = status?.podIP ?? "";
  // A pending or evicted pod has no address.
  if (ip === "") return { source, targets: [], labels: {} };
  const targets = containersOf(pod).flatMap(({ container, isInit }): TargetLabels[] => {
    const statuses = isInit ? status?.initContainerStatuses : status?.containerStatuses;
    const id = statuses?.find(({ name }) => name === container.name)?.containerID ?? "";
    const common = {
      ...containerLabels(container, isInit),
      [`${prefix}pod_container_id`]: id,
    };
    const ports = container.ports ?? [];
    if (ports.length === 0) return [{ __address__: ip, ...common }];
    return ports.map((port) => ({
      __address__: joinHostPort(ip, port.containerPort ?? 0),
      ...common,
      ...portLabels(port),
    }));
  });
  return {
    source,
    targets,
    labels: {
      ...podLabels(pod),
      [`${prefix}namespace`]: metadata?.namespace ?? "",
      ...attachedNode(beside, spec?.nodeName),
    },
  };
}
