/**
 * The connection between GPUs that can reach each other, and its maximum bandwidth in one direction. Reported by drivers, or
 * calculated from link counts and rates: an upper bound, not a measurement, since no load is run. Pure.
 */
import { gpu } from "../../model/catalogue/index.ts";
import { type GpuView, linkBytesPerSecond, splitByLabel } from "../../machine/snapshot-gpu.ts";
import type { GpuFacts, P2pLink, SnapshotFacts } from "../../machine/snapshot.ts";

export function p2pLinks(
  views: readonly GpuView[],
  facts: readonly GpuFacts[],
  p2p: SnapshotFacts["p2p"],
): NonNullable<SnapshotFacts["p2pLinks"]> {
  const ends = new Map(
    views.map((view, at) => [view.device.uuid, endOf(view, facts[at])] as const),
  );
  return Object.fromEntries(
    Object.entries(p2p).flatMap(([uuid, peers]) => {
      const own = ends.get(uuid);
      const links = Object.entries(peers).flatMap(([peer, isAccessible]) => {
        const other = ends.get(peer);
        return own === undefined || other === undefined || !isAccessible
          ? []
          : [[peer, linkBetween(own, other)] as const];
      });
      return links.length === 0 ? [] : [[uuid, Object.fromEntries(links)]];
    }),
  );
}

/** The links of one GPU to others. */
interface LinkEnd {
  readonly uuid: string;
  readonly vendor: string;
  /** By the peer's uuid, as its driver reports it. */
  readonly reported: Readonly<Record<string, number>>;
  readonly linksUp: number;
  /** The sum over all active links; undefined if a rate is not reported. */
  readonly linksBytesPerSecond: number | undefined;
  readonly pcieBytesPerSecond: number | undefined;
}

function endOf(view: GpuView, facts: GpuFacts | undefined): LinkEnd {
  const up = Object.entries(splitByLabel(view, gpu.interconnectUp, "link").values)
    .filter(([, isUp]) => isUp === 1)
    .map(([link]) => link);
  const rates = splitByLabel(view, gpu.interconnectBandwidth, "link").values;
  const known = up.flatMap((link) => rates[link] ?? []);
  const { generationMax, widthMax } = facts?.pcie ?? {};
  return {
    uuid: view.device.uuid,
    vendor: view.device.vendor,
    reported: splitByLabel(view, gpu.p2pBandwidth, "peer").values,
    linksUp: up.length,
    linksBytesPerSecond:
      known.length === up.length && up.length > 0
        ? known.reduce((sum, rate) => sum + rate, 0)
        : undefined,
    pcieBytesPerSecond:
      generationMax === undefined || widthMax === undefined
        ? undefined
        : linkBytesPerSecond(generationMax, widthMax),
  };
}

function linkBetween(own: LinkEnd, other: LinkEnd): P2pLink {
  const isLinked = own.linksUp > 0 && other.linksUp > 0;
  const via = isLinked ? (own.vendor === "amd" ? "xgmi" : "nvlink") : "pcie";
  const reported = own.reported[other.uuid];
  if (reported !== undefined) return { via, bandwidthBytesPerSecond: reported, basis: "reported" };
  const [left, right] = isLinked
    ? [own.linksBytesPerSecond, other.linksBytesPerSecond]
    : [own.pcieBytesPerSecond, other.pcieBytesPerSecond];
  if (left === undefined || right === undefined) return { via };
  return {
    via,
    bandwidthBytesPerSecond: Math.min(left, right),
    basis: isLinked ? "links" : "pcie",
  };
}
