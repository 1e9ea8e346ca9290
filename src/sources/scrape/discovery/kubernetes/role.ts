/** What a role is: the kind of object it makes groups of, and how. */
import type { DiscoveredGroup, TargetLabels } from "../group.ts";
import { nodeLabels } from "./labels.ts";
import type { Resource, ResourceObjects } from "./objects.ts";

/** Other objects to look at. What is looked at is remembered, so that its change rebuilds the group. */
export interface RelatedObjects {
  get<Kind extends Resource>(kind: Kind, key: string): ResourceObjects[Kind] | undefined;
  /** Whether a target also gets the labels of its node. */
  readonly attachNodes: boolean;
}

export interface DiscoveryRole<Kind extends Resource> {
  readonly resource: Kind;
  /** Kinds that `build` looks at. */
  readonly beside: readonly Resource[];
  /** Undefined where the object has no address to scrape. */
  build(object: ResourceObjects[Kind], beside: RelatedObjects): DiscoveredGroup | undefined;
}

/** The labels of the node a target runs on, where they are asked for. */
export function attachedNode(beside: RelatedObjects, nodeName: string | undefined): TargetLabels {
  if (!beside.attachNodes || nodeName === undefined || nodeName === "") return {};
  const node = beside.get("node", nodeName);
  return node === undefined ? {} : nodeLabels(node);
}
