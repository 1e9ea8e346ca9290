/** Code shared by the AMD and Intel cards under class/drm: discovery that wakes no card, PCIe channels, doctor findings. */
import type { Log } from "../base/log.ts";
import type { DeviceFacts } from "../machine/owners/kubelet/device-names.ts";
import { createOwnerResolver, type OwnerResolver } from "../machine/owners/resolver.ts";
import {
  type DrmCard,
  type DrmCards,
  findDrmCards,
  unidentifiedReason,
  warnUnidentified,
} from "../machine/sysfs/drm.ts";
import type { FileAccess } from "../machine/sysfs/file-access.ts";
import { machineIdentity } from "../machine/sysfs/machine-id.ts";
import {
  aerSeverities,
  readAerTotal,
  readLinkGeneration,
  readLinkWidth,
} from "../machine/sysfs/pci.ts";
import { gpu } from "../model/catalogue/index.ts";
import type { Card, CardChannel } from "./cards.ts";
import type { DoctorFinding, SourceContext } from "./source.ts";

export interface DrmMachine {
  readonly sysfs: string;
  readonly procfs: string;
  readonly fileAccess: FileAccess;
  readonly resolver: OwnerResolver;
  /** Returned by `machineIdentity`; identifies cards without a UUID. */
  readonly machine: string;
  readonly log: Log;
}

export async function openDrmMachine(
  { sysfs, procfs, nowMs, log, host, kubeletSocket }: SourceContext,
  fileAccess: FileAccess,
): Promise<DrmMachine> {
  const resolver = createOwnerResolver({ procfs, nowMs, log, fileAccess, kubeletSocket });
  const machine = await machineIdentity(host, procfs);
  return { sysfs, procfs, fileAccess, resolver, machine, log };
}

/** The numbers by which device plugins and DRA drivers identify a card. */
export function drmNumbers({
  name,
  renderNode,
  deviceId,
}: DrmCard): Pick<DeviceFacts, "drmCard" | "drmRender" | "pciDeviceId"> {
  return {
    drmCard: Number(name.slice("card".length)),
    drmRender: renderNode,
    pciDeviceId: Number.isNaN(deviceId) ? undefined : deviceId,
  };
}

export interface DrmVendor {
  readonly vendorId: number;
  /** Kernel drivers whose cards are included. */
  readonly drivers: readonly string[];
}

/** The cards of one vendor. Each is opened once per key, and again if it comes back under another number. */
export class DrmCardRegistry {
  readonly cards = new Map<string, Card>();
  readonly #machine: DrmMachine;
  readonly #vendor: DrmVendor;
  readonly #open: (key: string, card: DrmCard) => Promise<Card>;
  readonly #warned = new Set<string>();

  constructor(
    machine: DrmMachine,
    vendor: DrmVendor,
    open: (key: string, card: DrmCard) => Promise<Card>,
  ) {
    this.#machine = machine;
    this.#vendor = vendor;
    this.#open = open;
  }

  async discover(): Promise<readonly Card[]> {
    const { sysfs, fileAccess, log } = this.#machine;
    const { own, unidentified } = await findVendorCards(sysfs, this.#vendor, fileAccess);
    warnUnidentified(unidentified, this.#warned, log);
    const found: Card[] = [];
    for (const card of own) {
      const key = `${card.name} ${card.pciBusId}`;
      const known = this.cards.get(key) ?? (await this.#open(key, card));
      this.cards.set(key, known);
      found.push(known);
    }
    return found;
  }
}

export async function findVendorCards(
  sysfs: string,
  { vendorId, drivers }: DrmVendor,
  fileAccess: FileAccess,
): Promise<DrmCards & { readonly own: readonly DrmCard[] }> {
  const found = await findDrmCards(sysfs, vendorId, fileAccess);
  return { ...found, own: found.cards.filter(({ driver }) => drivers.includes(driver)) };
}

/** The doctor finding for cards that could not be identified or an unreadable /sys; undefined if there are none. */
export function unreadableCards(
  sysfs: string,
  { unidentified: [damaged], absent }: DrmCards,
): DoctorFinding | undefined {
  if (damaged !== undefined)
    return { state: "failed", says: `${damaged} is left out: ${unidentifiedReason}.` };
  if (absent !== "denied") return undefined;
  return {
    state: "denied",
    says: `${sysfs}/class/drm may not be read.`,
    fix: "Mount the host's /sys read-only (docker run -v /sys:/sys:ro) and give it with --sysfs.",
  };
}

const linkMetrics = {
  current: [gpu.pcieLinkGeneration, gpu.pcieLinkWidth],
  max: [gpu.pcieLinkGenerationMax, gpu.pcieLinkWidthMax],
} as const;

/** `port` is the folder that reports the link to the slot, `files` the file names in the card's own folder. */
export function pcieLinkChannels(
  port: string,
  files: ReadonlySet<string>,
  fileAccess: FileAccess,
): CardChannel[] {
  return (["current", "max"] as const).flatMap((which) => {
    if (!files.has(`${which}_link_speed`)) return [];
    const [generation, width] = linkMetrics[which];
    return [
      { metric: generation, read: () => readLinkGeneration(port, which, fileAccess) },
      { metric: width, read: () => readLinkWidth(port, which, fileAccess) },
    ];
  });
}

export function pcieErrorChannels(
  device: string,
  files: ReadonlySet<string>,
  fileAccess: FileAccess,
): CardChannel[] {
  return aerSeverities
    .filter((severity) => files.has(`aer_dev_${severity}`))
    .map((severity) => ({
      metric: gpu.pcieErrors,
      labels: { severity },
      read: () => readAerTotal(device, severity, fileAccess),
    }));
}
