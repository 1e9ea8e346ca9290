/** Labels shared by several roles: an object's labels and annotations, and those of a node, service, pod and container. */
import type { DiscoveredGroup, TargetLabels } from "../group.ts";
import type {
  Container,
  ContainerPort,
  KubeNode,
  KubeObject,
  KubePod,
  KubeService,
  Resource,
  ResourceObjects,
} from "./objects.ts";

export const prefix = "__meta_kubernetes_";

/** Replaces characters that a label name cannot contain. */
export const sanitize = (name: string): string => name.replace(/[^a-zA-Z0-9_]/g, "_");

export function objectLabels(kind: string, { metadata }: KubeObject): TargetLabels {
  const labels: Record<string, string> = {};
  for (const [what, entries] of [
    ["label", metadata?.labels],
    ["annotation", metadata?.annotations],
  ] as const) {
    for (const [name, value] of Object.entries(entries ?? {})) {
      labels[`${prefix}${kind}_${what}_${sanitize(name)}`] = value;
      labels[`${prefix}${kind}_${what}present_${sanitize(name)}`] = "true";
    }
  }
  return labels;
}

export function nodeLabels(node: KubeNode): TargetLabels {
  return {
    [`${prefix}node_name`]: node.metadata?.name ?? "",
    [`${prefix}node_provider_id`]: node.spec?.providerID ?? "",
    ...objectLabels("node", node),
  };
}

export function serviceLabels(service: KubeService): TargetLabels {
  return {
    [`${prefix}service_name`]: service.metadata?.name ?? "",
    ...objectLabels("service", service),
  };
}

export function podLabels(pod: KubePod): TargetLabels {
  const { metadata, spec, status } = pod;
  const owner = metadata?.ownerReferences?.find(({ controller }) => controller === true);
  const ready = status?.conditions?.find(({ type }) => type === "Ready")?.status;
  return {
    [`${prefix}pod_name`]: metadata?.name ?? "",
    [`${prefix}pod_ip`]: status?.podIP ?? "",
    [`${prefix}pod_ready`]: (ready ?? "unknown").toLowerCase(),
    [`${prefix}pod_phase`]: status?.phase ?? "",
    [`${prefix}pod_node_name`]: spec?.nodeName ?? "",
    [`${prefix}pod_host_ip`]: status?.hostIP ?? "",
    [`${prefix}pod_uid`]: metadata?.uid ?? "",
    ...objectLabels("pod", pod),
    [`${prefix}pod_controller_kind`]: owner?.kind ?? "",
    [`${prefix}pod_controller_name`]: owner?.name ?? "",
  };
}

/** Containers, then init containers, in the order of the pod's spec. */
export function containersOf({
  spec,
}: KubePod): readonly { readonly container: Container; readonly isInit: boolean }[] {
  return [
    ...(spec?.containers ?? []).map((container) => ({ container, isInit: false })),
    ...(spec?.initContainers ?? []).map((container) => ({ container, isInit: true })),
  ];
}

export const containerLabels = (container: Container, isInit: boolean): TargetLabels => ({
  [`${prefix}pod_container_name`]: container.name ?? "",
  [`${prefix}pod_container_image`]: container.image ?? "",
  [`${prefix}pod_container_init`]: String(isInit),
});

export const portLabels = (port: ContainerPort): TargetLabels => ({
  [`${prefix}pod_container_port_number`]: String(port.containerPort ?? 0),
  [`${prefix}pod_container_port_name`]: port.name ?? "",
  [`${prefix}pod_container_port_protocol`]: port.protocol ?? "",
});

/* A role: the kind of object it makes groups of, and how. */

/** Access to other objects while a group is built. Each access is recorded, so that a change of the object rebuilds the group. */
export interface RelatedObjects {
  get<Kind extends Resource>(kind: Kind, key: string): ResourceObjects[Kind] | undefined;
  /** True if targets also get the labels of their node. */
  readonly attachNodes: boolean;
}

export interface DiscoveryRole<Kind extends Resource> {
  readonly resource: Kind;
  /** Other kinds that `build` reads. */
  readonly beside: readonly Resource[];
  /** Undefined if the object has no address to scrape. */
  build(object: ResourceObjects[Kind], beside: RelatedObjects): DiscoveredGroup | undefined;
}

/** The labels of the node a target runs on, if configured. */
export function attachedNode(beside: RelatedObjects, nodeName: string | undefined): TargetLabels {
  if (!beside.attachNodes || nodeName === undefined || nodeName === "") return {};
  const node = beside.get("node", nodeName);
  return node === undefined ? {} : nodeLabels(node);
}
