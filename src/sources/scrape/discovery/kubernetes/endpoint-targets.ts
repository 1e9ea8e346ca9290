/**
 * Shared by the roles `endpoints` and `endpointslice`: an endpoint that is a pod also gets the pod's labels, and ports of such
 * pods that are not endpoints become targets too.
 */
import type { TargetLabels } from "../group.ts";
import { joinHostPort } from "../../targets/target.ts";
import {
  containerLabels,
  containersOf,
  podLabels,
  portLabels,
  type RelatedObjects,
} from "./labels.ts";
import { keyOf, type KubePod, type ObjectRef } from "./objects.ts";

export class EndpointTargets {
  readonly targets: TargetLabels[] = [];
  readonly #beside: RelatedObjects;
  readonly #seen = new Map<string, { readonly pod: KubePod; readonly ports: Set<number> }>();

  constructor(beside: RelatedObjects) {
    this.#beside = beside;
  }

  add(labels: TargetLabels, ref: ObjectRef | undefined, port: number | undefined): void {
    const pod =
      ref?.kind === "Pod"
        ? this.#beside.get("pod", `${ref.namespace ?? ""}/${ref.name ?? ""}`)
        : undefined;
    if (pod === undefined) {
      this.targets.push(labels);
      return;
    }
    const seen = this.#seen.get(keyOf(pod)) ?? { pod, ports: new Set<number>() };
    this.#seen.set(keyOf(pod), seen);
    if (port !== undefined) seen.ports.add(port);
    this.targets.push({ ...labels, ...podLabels(pod), ...containerAt(pod, port) });
  }

  /** Adds the pods' ports that are no endpoint of the service. */
  addOtherPorts(): void {
    for (const { pod, ports } of this.#seen.values()) {
      const ip = pod.status?.podIP ?? "";
      if (ip === "") continue;
      for (const { container, isInit } of containersOf(pod)) {
        for (const port of container.ports ?? []) {
          const number = port.containerPort ?? 0;
          if (ports.has(number)) continue;
          this.targets.push({
            __address__: joinHostPort(ip, number),
            ...containerLabels(container, isInit),
            ...portLabels(port),
            ...podLabels(pod),
          });
        }
      }
    }
  }
}

/** The labels of the container with the endpoint's port. */
function containerAt(pod: KubePod, port: number | undefined): TargetLabels {
  if (port === undefined) return {};
  let found: TargetLabels = {};
  for (const { container, isInit } of containersOf(pod)) {
    const match = container.ports?.find(({ containerPort }) => containerPort === port);
    if (match !== undefined)
      found = { ...containerLabels(container, isInit), ...portLabels(match) };
  }
  return found;
}
