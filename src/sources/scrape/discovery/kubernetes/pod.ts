/** `role: pod`: every port of every container, or the pod's address where a container names none. */
import type { DiscoveredGroup, TargetLabels } from "../group.ts";
import { joinHostPort } from "../../targets/address.ts";
import { containersOf, podLabels, prefix } from "./labels.ts";
import type { Container, ContainerPort, KubePod } from "./objects.ts";
import { attachedNode, type DiscoveryRole, type RelatedObjects } from "./role.ts";

export const podRole: DiscoveryRole<"pod"> = { resource: "pod", beside: [], build };

function build(pod: KubePod, beside: RelatedObjects): DiscoveredGroup {
  const { metadata, spec, status } = pod;
  const source = `pod/${metadata?.namespace ?? ""}/${metadata?.name ?? ""}`;
  const ip = status?.podIP ?? "";
  // A pod that starts or was evicted has no address.
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
