/** `role: service`: each port of each service, at the service's name in the cluster. */
import type { DiscoveredGroup, TargetLabels } from "../group.ts";
import { joinHostPort } from "../../targets/address.ts";
import { prefix, serviceLabels } from "./labels.ts";
import type { KubeService } from "./objects.ts";
import type { DiscoveryRole } from "./role.ts";

export const serviceRole: DiscoveryRole<"service"> = { resource: "service", beside: [], build };

function build(service: KubeService): DiscoveredGroup {
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
