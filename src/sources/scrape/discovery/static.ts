/** Targets written in the configuration itself. */
import type { TargetGroup } from "../config/types.ts";
import type { DiscoveredGroup, Discovery } from "./group.ts";

export function staticDiscovery(configs: readonly TargetGroup[]): Discovery {
  const groups = configs.map(({ targets, labels }, index): DiscoveredGroup => ({
    source: String(index),
    targets: targets.map((address) => ({ __address__: address })),
    labels: Object.fromEntries(labels),
  }));
  return { start: (emit) => emit(groups), close() {} };
}
