/**
 * Finds the GPUs of a server: those on which agents found processes of its pod or workload, a process that listens on its port, or
 * its container. If none of these is known, all GPUs of its machine, marked as such. Pure.
 */
import { hostOf } from "../../formats/exporters/translate.ts";
import { type LabelSet, labelValue } from "../../model/labels.ts";
import type { ServingGpu, ServingGpus } from "./figures.ts";
import type { Replica, ServerTarget } from "./replicas.ts";

export interface FleetLabels {
  /** Label sets of `gpu_info`. */
  readonly infos: readonly LabelSet[];
  /** Label sets of `gpu_owner_info`. */
  readonly owners: readonly LabelSet[];
  /** Label sets of `gpu_listener_info`. */
  readonly listeners: readonly LabelSet[];
  /** The hub's own machine, whose targets have a loopback address. */
  readonly ownHost: string;
}

type OwnerLabel = "namespace" | "pod" | "container" | "workload";

export function hostOfTarget({ host, instance }: ServerTarget, ownHost: string): string {
  const name = host ?? hostOf(instance);
  return /^(localhost|127(\.\d{1,3}){3}|::1)$/.test(name) ? ownHost : name;
}

/** Returns one entry per replica, in the same order. */
export function gpusOfReplicas(
  replicas: readonly Replica[],
  fleet: FleetLabels,
): readonly ServingGpus[] {
  const found = replicas.map((replica) => gpusOf(replica, fleet));
  return found.map((gpus, at) => {
    if ("absent" in gpus) return gpus;
    const own = new Set(gpus.list.map(keyOf));
    const sharedWith = found.filter(
      (other, place) =>
        place !== at && "list" in other && other.list.some((gpu) => own.has(keyOf(gpu))),
    ).length;
    return { ...gpus, sharedWith };
  });
}

const keyOf = ({ host, uuid }: ServingGpu): string => `${host}/${uuid}`;

function gpusOf({ table, target }: Replica, fleet: FleetLabels): ServingGpus {
  if (table.role === "router")
    return { absent: "It passes requests on: the GPUs belong to the servers behind it." };
  const host = hostOfTarget(target, fleet.ownHost);
  const { infos, owners, listeners } = fleet;
  const port = /:(\d{1,5})$/.exec(target.instance)?.[1];
  const matches = (labels: LabelSet, ...names: readonly OwnerLabel[]): boolean =>
    names.every((name) => target[name] !== undefined && labelValue(labels, name) === target[name]);
  const isHere = (labels: LabelSet): boolean => isSameHost(labelValue(labels, "host"), host);
  const candidates = [
    // Pod names are unique in a cluster, so the host is not compared, even if several machines serve the pod's model.
    ["pod", owners.filter((labels) => matches(labels, "namespace", "pod"))],
    ["workload", owners.filter((labels) => isHere(labels) && matches(labels, "workload"))],
    [
      "port",
      listeners.filter(
        (labels) => port !== undefined && isHere(labels) && labelValue(labels, "port") === port,
      ),
    ],
    ["container", owners.filter((labels) => isHere(labels) && matches(labels, "container"))],
    [
      "host",
      infos.filter((labels) => isHere(labels) && labelValue(labels, "parent") === undefined),
    ],
  ] as const;
  for (const [by, labelSets] of candidates) {
    const list = describe(labelSets, infos);
    if (list.length > 0) return { by, list, sharedWith: 0 };
  }
  return {
    absent: `No GPU of ${host} reports here. If an agent runs there, give the scrape target its host name as the label host.`,
  };
}

function describe(labelSets: readonly LabelSet[], infos: readonly LabelSet[]): ServingGpu[] {
  const found = new Map<string, ServingGpu>();
  for (const labels of labelSets) {
    const [uuid, host] = [labelValue(labels, "uuid"), labelValue(labels, "host")];
    if (uuid === undefined || host === undefined) continue;
    const info = infos.find(
      (one) => labelValue(one, "uuid") === uuid && labelValue(one, "host") === host,
    );
    const gpu = {
      uuid,
      host,
      index: labelValue(labels, "gpu") ?? "?",
      model: (info && labelValue(info, "model")) ?? "unknown",
    };
    found.set(keyOf(gpu), gpu);
  }
  return [...found.values()].toSorted(
    (a, b) => a.host.localeCompare(b.host) || Number(a.index) - Number(b.index),
  );
}

/** `gpu-1` and `gpu-1.example.org` are one machine; addresses are compared literally. */
function isSameHost(left: string | undefined, right: string): boolean {
  if (left === right) return true;
  if (left === undefined || /^[\d.]+$|:/.test(left) || /^[\d.]+$|:/.test(right)) return false;
  return left.startsWith(`${right}.`) || right.startsWith(`${left}.`);
}
