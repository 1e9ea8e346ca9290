/**
 * How the GPUs of a machine are connected, as reported by agents: PCIe links, NUMA nodes, direct access between GPUs, NVLink or
 * XGMI, MIG instances. Nothing is inferred: a fact that no source reports stays undefined. Pure.
 */
import { compareNames } from "../sort.ts";

type Labels = Readonly<Record<string, string>>;

export interface TopologySample {
  readonly labels: Labels;
  readonly value: number;
}

export interface PcieLink {
  readonly generation: number;
  readonly width: number;
  readonly generationMax?: number;
  readonly widthMax?: number;
}

export interface GpuPart {
  readonly uuid: string;
  readonly model: string;
}

export interface TopologyGpu {
  readonly uuid: string;
  readonly index: number;
  readonly model: string;
  readonly vendor: string;
  readonly pciBusId?: string;
  readonly numaNode?: string;
  readonly pcie?: PcieLink;
  /** NVLink or XGMI; absent if no source reports the state of links. */
  readonly links?: { readonly up: number; readonly down: number; readonly bytesPerSecond?: number };
  /** MIG instances. */
  readonly parts: readonly GpuPart[];
}

/** GPUs that reach each other's memory directly, or through others of the group. */
export interface PeerGroup {
  readonly uuids: readonly string[];
  /** Undefined if no source reports links, so that it could be either. */
  readonly via: "NVLink" | "XGMI" | "PCIe" | undefined;
  /** True if every GPU reaches every other. */
  readonly isComplete: boolean;
  /** Bandwidth of all active links of one member together, in one direction; absent if a rate is missing or differs. */
  readonly bytesPerSecond?: number;
}

export interface NumaNode {
  /** Undefined if the machine reports no node for these GPUs. */
  readonly name: string | undefined;
  readonly gpus: readonly TopologyGpu[];
}

export interface Topology {
  readonly nodes: readonly NumaNode[];
  readonly groups: readonly PeerGroup[];
  /** False if no source reports which GPU reaches which. */
  readonly isPeerAccessKnown: boolean;
}

/** The metrics that a topology is built from; all have a `uuid` label. */
export const topologyMetrics = [
  "gpu_info",
  "gpu_p2p_accessible",
  "gpu_interconnect_up",
  "gpu_interconnect_bandwidth_bytes_per_second",
  "gpu_pcie_link_generation",
  "gpu_pcie_link_generation_max",
  "gpu_pcie_link_width",
  "gpu_pcie_link_width_max",
] as const;

type MetricName = (typeof topologyMetrics)[number];

export function buildTopology(samples: readonly TopologySample[]): Topology {
  const of = (name: MetricName, uuid?: string): readonly TopologySample[] =>
    samples.filter(
      ({ labels }) =>
        labels["__name__"] === name && (uuid === undefined || labels["uuid"] === uuid),
    );
  // Two sources may describe one GPU.
  const infos = new Map(of("gpu_info").map(({ labels }) => [labels["uuid"] ?? "", labels]));
  const whole = [...infos.values()].filter(({ parent }) => parent === undefined);
  const gpus = whole.map((labels) => describeGpu(labels, [...infos.values()], of));
  gpus.sort((left, right) => left.index - right.index || compareNames(left.uuid, right.uuid));
  const access = of("gpu_p2p_accessible");
  return {
    nodes: groupByNode(gpus),
    groups: findPeerGroups(gpus, access),
    isPeerAccessKnown: access.length > 0,
  };
}

type SamplesOf = (name: MetricName, uuid?: string) => readonly TopologySample[];

function describeGpu(labels: Labels, all: readonly Labels[], of: SamplesOf): TopologyGpu {
  const { uuid = "", gpu, model = "unknown", vendor = "unknown", pci_bus_id, numa_node } = labels;
  const number = (name: MetricName): number | undefined => of(name, uuid)[0]?.value;
  const [generation, width] = [number("gpu_pcie_link_generation"), number("gpu_pcie_link_width")];
  const [generationMax, widthMax] = [
    number("gpu_pcie_link_generation_max"),
    number("gpu_pcie_link_width_max"),
  ];
  const links = linksOf(of("gpu_interconnect_up", uuid), of, uuid);
  return {
    uuid,
    index: Number.isInteger(Number(gpu)) ? Number(gpu) : 0,
    model,
    vendor,
    ...(pci_bus_id === undefined ? {} : { pciBusId: pci_bus_id }),
    ...(numa_node === undefined ? {} : { numaNode: numa_node }),
    ...(generation === undefined || width === undefined
      ? {}
      : {
          pcie: {
            generation,
            width,
            ...(generationMax === undefined ? {} : { generationMax }),
            ...(widthMax === undefined ? {} : { widthMax }),
          },
        }),
    ...(links === undefined ? {} : { links }),
    parts: all
      .filter(({ parent }) => parent === uuid)
      .map((part) => ({ uuid: part["uuid"] ?? "", model: part["model"] ?? "instance" }))
      .sort((left, right) => compareNames(left.model, right.model)),
  };
}

function linksOf(
  states: readonly TopologySample[],
  of: SamplesOf,
  uuid: string,
): TopologyGpu["links"] {
  if (states.length === 0) return undefined;
  const byLink = new Map(states.map(({ labels, value }) => [labels["link"] ?? "", value === 1]));
  const up = [...byLink].filter(([, isUp]) => isUp).map(([link]) => link);
  const rates = new Map(
    of("gpu_interconnect_bandwidth_bytes_per_second", uuid).map(({ labels, value }) => [
      labels["link"] ?? "",
      value,
    ]),
  );
  const known = up.flatMap((link) => rates.get(link) ?? []);
  return {
    up: up.length,
    down: byLink.size - up.length,
    ...(up.length > 0 && known.length === up.length
      ? { bytesPerSecond: known.reduce((sum, rate) => sum + rate, 0) }
      : {}),
  };
}

function groupByNode(gpus: readonly TopologyGpu[]): NumaNode[] {
  const nodes = new Map<string | undefined, TopologyGpu[]>();
  for (const gpu of gpus) {
    const own = nodes.get(gpu.numaNode);
    if (own === undefined) nodes.set(gpu.numaNode, [gpu]);
    else own.push(gpu);
  }
  return [...nodes]
    .sort(([left], [right]) =>
      left === undefined ? 1 : right === undefined ? -1 : compareNames(left, right),
    )
    .map(([name, own]) => ({ name, gpus: own }));
}

/** Connected components of the graph of GPUs that can read and write each other's memory. */
function findPeerGroups(
  gpus: readonly TopologyGpu[],
  access: readonly TopologySample[],
): PeerGroup[] {
  const pairs = new Set(
    access
      .filter(({ value }) => value === 1)
      .map(({ labels }) => `${labels["uuid"]} ${labels["peer"]}`),
  );
  const reaches = (from: string, to: string): boolean =>
    pairs.has(`${from} ${to}`) || pairs.has(`${to} ${from}`);
  const left = new Map(gpus.map((gpu) => [gpu.uuid, gpu]));
  const groups: PeerGroup[] = [];
  for (const first of gpus) {
    if (!left.delete(first.uuid)) continue;
    const members = [first];
    // `members` grows during the loop: each new member adds those that it reaches.
    for (const member of members)
      for (const other of left.values())
        if (reaches(member.uuid, other.uuid)) {
          left.delete(other.uuid);
          members.push(other);
        }
    if (members.length > 1) groups.push(describeGroup(members, reaches));
  }
  return groups;
}

function describeGroup(
  members: readonly TopologyGpu[],
  reaches: (from: string, to: string) => boolean,
): PeerGroup {
  const isLinked = members.every(({ links }) => (links?.up ?? 0) > 0);
  const isUnlinked = members.every(({ links }) => links?.up === 0);
  const rates = new Set(members.map(({ links }) => links?.bytesPerSecond));
  const [rate] = rates;
  return {
    uuids: members.map(({ uuid }) => uuid),
    via: isUnlinked
      ? "PCIe"
      : !isLinked
        ? undefined
        : members.every(({ vendor }) => vendor === "amd")
          ? "XGMI"
          : "NVLink",
    isComplete: members.every((one, at) =>
      members.slice(at + 1).every((other) => reaches(one.uuid, other.uuid)),
    ),
    ...(isLinked && rates.size === 1 && rate !== undefined ? { bytesPerSecond: rate } : {}),
  };
}

/** True if the link is below the maximum of card and slot. An idle card may lower its generation to save power. */
export const isReducedLink = ({ generation, width, generationMax, widthMax }: PcieLink): boolean =>
  (generationMax !== undefined && generation < generationMax) ||
  (widthMax !== undefined && width < widthMax);

/** `PCIe 5 ×16`, or `PCIe 4 ×8 of 5 ×16`. */
export function formatPcieLink(link: PcieLink): string {
  const now = `PCIe ${link.generation} ×${link.width}`;
  if (!isReducedLink(link)) return now;
  return `${now} of ${link.generationMax ?? link.generation} ×${link.widthMax ?? link.width}`;
}

/** Describes the topology in one or two sentences. */
export function describeTopology({ nodes, groups, isPeerAccessKnown }: Topology): string {
  const count = nodes.reduce((sum, { gpus }) => sum + gpus.length, 0);
  const named = nodes.filter(({ name }) => name !== undefined);
  const missing = nodes.find(({ name }) => name === undefined)?.gpus.length ?? 0;
  const where =
    named.length === 0
      ? "; no NUMA node is reported"
      : ` on ${named.length} NUMA ${named.length === 1 ? "node" : "nodes"}${missing === 0 ? "" : `, ${missing} without a reported node`}`;
  const peers = !isPeerAccessKnown
    ? count > 1
      ? " Which GPU reaches which is not reported."
      : ""
    : groups.length === 0
      ? " No GPU reaches another directly."
      : ` ${groups.map((group) => describePeers(group, count)).join(" ")}`;
  return `${count} ${count === 1 ? "GPU" : "GPUs"}${where}.${peers}`;
}

function describePeers({ uuids, via, isComplete }: PeerGroup, count: number): string {
  const who = uuids.length === count ? `All ${count}` : `${uuids.length} of them`;
  const how = via === undefined ? "directly" : `over ${via}`;
  return `${who} reach each other${isComplete ? "" : " in part"} ${how}.`;
}
