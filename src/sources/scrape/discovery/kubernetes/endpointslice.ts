/** `role: endpointslice`: each address of each slice, with the labels of its service and pod. */
import { defined } from "../../../../base/defined.ts";
import type { DiscoveredGroup, TargetLabels } from "../group.ts";
import { joinHostPort } from "../../targets/target.ts";
import { EndpointTargets } from "./endpoint-targets.ts";
import {
  objectLabels,
  prefix,
  sanitize,
  serviceLabels,
  attachedNode,
  type DiscoveryRole,
  type RelatedObjects,
} from "./labels.ts";
import { keyOf, type KubeEndpointSlice } from "./objects.ts";

export const endpointsliceRole: DiscoveryRole<"endpointslice"> = {
  resource: "endpointslice",
  beside: ["service", "pod"],
  build,
};

type Endpoint = NonNullable<KubeEndpointSlice["endpoints"]>[number];
type Port = NonNullable<KubeEndpointSlice["ports"]>[number];
const kind = `${prefix}endpointslice_`;

function build(slice: KubeEndpointSlice, beside: RelatedObjects): DiscoveredGroup {
  const { metadata } = slice;
  const namespace = metadata?.namespace ?? "";
  const made = new EndpointTargets(beside);
  for (const port of slice.ports ?? [])
    for (const endpoint of slice.endpoints ?? [])
      for (const address of endpoint.addresses ?? [])
        made.add(
          {
            __address__: port.port === undefined ? address : joinHostPort(address, port.port),
            ...portLabels(port),
            ...endpointLabels(endpoint),
            ...attachedNode(beside, nodeOf(endpoint)),
          },
          endpoint.targetRef,
          port.port,
        );
  made.addOtherPorts();
  const serviceName = metadata?.labels?.["kubernetes.io/service-name"];
  const service =
    serviceName === undefined ? undefined : beside.get("service", `${namespace}/${serviceName}`);
  return {
    source: `endpointslice/${keyOf(slice)}`,
    targets: made.targets,
    labels: {
      [`${prefix}namespace`]: namespace,
      [`${kind}name`]: metadata?.name ?? "",
      [`${kind}address_type`]: slice.addressType ?? "",
      ...objectLabels("endpointslice", slice),
      ...(service === undefined ? {} : serviceLabels(service)),
    },
  };
}

const portLabels = ({ name, port, protocol, appProtocol }: Port): TargetLabels =>
  defined({
    [`${kind}port_name`]: name,
    [`${kind}port_protocol`]: protocol,
    [`${kind}port`]: port === undefined ? undefined : String(port),
    [`${kind}port_app_protocol`]: appProtocol,
  });

function endpointLabels(endpoint: Endpoint): TargetLabels {
  const { conditions, hostname, nodeName, zone, targetRef } = endpoint;
  const labels: Record<string, string> = defined({
    [`${kind}endpoint_conditions_ready`]: formatBoolean(conditions?.ready),
    [`${kind}endpoint_conditions_serving`]: formatBoolean(conditions?.serving),
    [`${kind}endpoint_conditions_terminating`]: formatBoolean(conditions?.terminating),
    [`${kind}endpoint_hostname`]: hostname,
    [`${kind}endpoint_node_name`]: nodeName,
    [`${kind}endpoint_zone`]: zone,
    [`${kind}address_target_kind`]: targetRef?.kind,
    [`${kind}address_target_name`]: targetRef?.name,
  });
  for (const [name, value] of Object.entries(endpoint.deprecatedTopology ?? {})) {
    labels[`${kind}endpoint_topology_${sanitize(name)}`] = value;
    labels[`${kind}endpoint_topology_present_${sanitize(name)}`] = "true";
  }
  return labels;
}

const nodeOf = ({ nodeName, targetRef }: Endpoint): string | undefined =>
  nodeName ?? (targetRef?.kind === "Node" ? targetRef.name : undefined);

const formatBoolean = (value: boolean | undefined): string | undefined =>
  value === undefined ? undefined : String(value);
