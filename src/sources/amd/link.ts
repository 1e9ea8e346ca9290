/** The card's links: PCIe to the slot, XGMI to other cards, and which of them it can access directly. */
import { gpu } from "../../model/catalogue/index.ts";
import { present } from "../../machine/sysfs/read-result.ts";
import type { CardChannel } from "../cards.ts";
import { pcieErrorChannels, pcieLinkChannels } from "../drm-cards.ts";
import { type AmdCardContext, fromFile, fromTable } from "./card-context.ts";
import { pcieEvents, type XgmiLink } from "./gpu-metrics/interpret.ts";
import type { KfdNode } from "./kfd.ts";
import type { PcieBandwidth } from "./pcie-bandwidth.ts";

/** An APU has no slot: its files describe a link inside the chip. */
export function pcieChannels(context: AmdCardContext): readonly CardChannel[] {
  const { port, fileAccess, files, initialMetrics } = context;
  const channels = context.isApu ? [] : pcieLinkChannels(port, files, fileAccess);
  if (files.has("pcie_replay_count")) {
    channels.push({ metric: gpu.pcieReplays, read: fromFile(context, "pcie_replay_count") });
  } else if (initialMetrics?.pcieReplays !== undefined) {
    channels.push({
      metric: gpu.pcieReplays,
      read: fromTable(context, ({ pcieReplays }) => pcieReplays),
    });
  }
  for (const event of pcieEvents) {
    if (initialMetrics?.pcieEvents[event] === undefined) continue;
    const read = fromTable(context, (readings) => readings.pcieEvents[event]);
    channels.push({ metric: gpu.pcieLinkEvents, labels: { event }, read });
  }
  return [...channels, ...pcieErrorChannels(context.card.device, files, fileAccess)];
}

/** Only with `pcie=true`: reading the file takes a second, so it is read in the background and reported a tick later. */
export function pcieTrafficChannels(
  context: AmdCardContext,
  bandwidth: PcieBandwidth | undefined,
): readonly CardChannel[] {
  if (bandwidth === undefined || !context.files.has("pcie_bw")) return [];
  return (["receive", "transmit"] as const).map((direction) => ({
    metric: gpu.pcieThroughput,
    labels: { direction },
    read: (timeMs) => bandwidth.read(timeMs, direction),
  }));
}

export function xgmiChannels(context: AmdCardContext): readonly CardChannel[] {
  return (context.initialMetrics?.xgmi ?? []).flatMap((link) =>
    linkValues.flatMap(({ metric, direction, value }) =>
      value(link) === undefined
        ? []
        : [
            {
              metric,
              labels: { link: String(link.link), direction },
              read: fromTable(context, ({ xgmi }) => {
                const now = xgmi.find((other) => other.link === link.link);
                return now === undefined ? undefined : value(now);
              }),
            },
          ],
    ),
  );
}

interface LinkValue {
  readonly metric: CardChannel["metric"];
  readonly direction?: string;
  readonly value: (link: XgmiLink) => number | undefined;
}

const linkValues: readonly LinkValue[] = [
  {
    metric: gpu.interconnectUp,
    value: ({ isUp }) => (isUp === undefined ? undefined : Number(isUp)),
  },
  { metric: gpu.interconnectBytes, direction: "receive", value: ({ readBytes }) => readBytes },
  {
    metric: gpu.interconnectBytes,
    direction: "transmit",
    value: ({ writtenBytes }) => writtenBytes,
  },
];

/** 1 or 0 for every other GPU in kfd; no channels if the card itself is not in kfd. */
export function peerChannels(
  context: AmdCardContext,
  nodes: readonly KfdNode[],
  uuidOf: (pciBusId: string) => string | undefined,
): readonly CardChannel[] {
  const own = nodes.find(({ pciBusId }) => pciBusId === context.card.pciBusId);
  if (own === undefined) return [];
  return nodes.flatMap((other) => {
    const peer = uuidOf(other.pciBusId);
    if (other.node === own.node || peer === undefined) return [];
    const reading = present(own.peers.has(other.node) ? 1 : 0);
    const bytesPerSecond = own.peerBytesPerSecond.get(other.node);
    return [
      { metric: gpu.p2pAccessible, labels: { peer }, read: () => reading },
      ...(bytesPerSecond === undefined
        ? []
        : [{ metric: gpu.p2pBandwidth, labels: { peer }, read: () => present(bytesPerSecond) }]),
    ];
  });
}
