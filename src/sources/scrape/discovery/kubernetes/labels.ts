/** Labels that several roles give: of an object's own labels and annotations, of a node, a service, a pod. */
import type { TargetLabels } from "../group.ts";
import type { Container, KubeNode, KubeObject, KubePod, KubeService } from "./objects.ts";

export const prefix = "__meta_kubernetes_";

/** What cannot stand in a label's name becomes an underscore. */
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

/** Containers, then init containers, as they stand in the pod. */
export function containersOf({
  spec,
}: KubePod): readonly { readonly container: Container; readonly isInit: boolean }[] {
  return [
    ...(spec?.containers ?? []).map((container) => ({ container, isInit: false })),
    ...(spec?.initContainers ?? []).map((container) => ({ container, isInit: true })),
  ];
}
