/** `role: node`: each node of the cluster, at its kubelet's port. */
import type { DiscoveredGroup, TargetLabels } from "../group.ts";
import { joinHostPort } from "../../targets/address.ts";
import { nodeLabels, prefix, sanitize } from "./labels.ts";
import type { KubeNode } from "./objects.ts";
import type { DiscoveryRole } from "./role.ts";

/** The first kind of address that a node has is the one it is scraped at. */
const preference = [
  "InternalIP",
  "InternalDNS",
  "ExternalIP",
  "ExternalDNS",
  "LegacyHostIP",
  "Hostname",
];

export const nodeRole: DiscoveryRole<"node"> = { resource: "node", beside: [], build };

function build(node: KubeNode): DiscoveredGroup | undefined {
  const first: Record<string, string> = {};
  for (const { type = "", address = "" } of node.status?.addresses ?? []) first[type] ??= address;
  const kind = preference.find((type) => first[type] !== undefined);
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
