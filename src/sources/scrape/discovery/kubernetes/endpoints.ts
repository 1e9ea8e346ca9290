/** `role: endpoints`: each address of each service's endpoints, with the labels of its service and pod. */
import type { DiscoveredGroup, TargetLabels } from "../group.ts";
import { joinHostPort } from "../../targets/address.ts";
import { EndpointTargets } from "./endpoint-targets.ts";
import { objectLabels, prefix, serviceLabels } from "./labels.ts";
import { type EndpointAddress, keyOf, type KubeEndpoints } from "./objects.ts";
import { attachedNode, type DiscoveryRole, type RelatedObjects } from "./role.ts";

export const endpointsRole: DiscoveryRole<"endpoints"> = {
  resource: "endpoints",
  beside: ["service", "pod"],
  build,
};

function build(endpoints: KubeEndpoints, beside: RelatedObjects): DiscoveredGroup {
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
