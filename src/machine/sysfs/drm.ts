/** The graphics cards under class/drm by kernel number. Finds them without waking any. */
import path from "node:path";
import type { FileAccess } from "./file-access.ts";
import { parsePciAddress } from "./pci.ts";
import { listDir, readLink, readText, resolvePath } from "./read.ts";
import type { AbsenceReason } from "../../model/presence.ts";
import type { Log } from "../../base/log.ts";

export interface DrmCard {
  /** `card0`. The numbers have gaps and may change when a driver is reloaded. */
  readonly name: string;
  /** The folder of its PCI device. */
  readonly device: string;
  readonly driver: string;
  /** domain:bus:device.function in lower case. */
  readonly pciBusId: string;
  readonly vendorId: number;
  readonly deviceId: number;
  readonly revision: number | undefined;
  /** 129 of `renderD129`; absent if the driver has no render node. */
  readonly renderNode: number | undefined;
}

export interface DrmCards {
  readonly cards: readonly DrmCard[];
  /** Cards of the vendor without a PCI address in `uevent` or the device's path, so without an identity. */
  readonly unidentified: readonly string[];
  /** Why class/drm itself could not be listed. */
  readonly absent?: AbsenceReason;
}

/** Cards of one vendor, by number. Connectors (`card0-DP-1`) and render nodes are left out. */
export async function findDrmCards(
  sysfs: string,
  vendorId: number,
  fileAccess: FileAccess,
): Promise<DrmCards> {
  const folder = `${sysfs}/class/drm`;
  const names = await listDir(folder, fileAccess);
  if (!names.ok) return { cards: [], unidentified: [], absent: names.reason };
  const numbers = names.value
    .flatMap((name) => /^card(\d{1,6})$/.exec(name)?.[1] ?? [])
    .map(Number)
    .toSorted((a, b) => a - b);
  const found = await Promise.all(
    numbers.map((number) =>
      describeCard(`card${number}`, `${folder}/card${number}/device`, fileAccess),
    ),
  );
  const own = found.filter((card) => card?.vendorId === vendorId);
  return {
    cards: own.flatMap((card) => (card !== undefined && isIdentified(card) ? card : [])),
    unidentified: own.flatMap((card) =>
      card === undefined || isIdentified(card) ? [] : `${folder}/${card.name}`,
    ),
  };
}

/** Logs each card without an identity once. */
export function warnUnidentified(cards: readonly string[], warned: Set<string>, log: Log): void {
  for (const card of cards.filter((one) => !warned.has(one))) {
    warned.add(card);
    log.warn("GPU skipped: its PCI address is unknown", { card, reason: unidentifiedReason });
  }
}

export const unidentifiedReason =
  "neither PCI_SLOT_NAME in device/uevent nor the path of device holds a PCI address";

type FoundCard = Omit<DrmCard, "pciBusId"> & { readonly pciBusId: string | undefined };

const isIdentified = (card: FoundCard): card is DrmCard => card.pciBusId !== undefined;

/** `uevent` contains driver, id and address in one read; if it is damaged, each has its own file or link. */
async function describeCard(
  name: string,
  device: string,
  fileAccess: FileAccess,
): Promise<FoundCard | undefined> {
  const [vendor, uevent, revision, nodes] = await Promise.all([
    readText(`${device}/vendor`, 64, fileAccess),
    readText(`${device}/uevent`, 4_096, fileAccess),
    readText(`${device}/revision`, 64, fileAccess),
    listDir(`${device}/drm`, fileAccess),
  ]);
  const render = (nodes.ok ? nodes.value : []).flatMap(
    (node) => /^renderD(\d{1,6})$/.exec(node)?.[1] ?? [],
  )[0];
  if (!vendor.ok) return undefined;
  const facts = parseUevent(uevent.ok ? uevent.value : "");
  return {
    name,
    device,
    driver: facts.get("DRIVER") || (await linkName(`${device}/driver`, fileAccess)),
    pciBusId:
      parsePciAddress(facts.get("PCI_SLOT_NAME") ?? "") ?? (await pathAddress(device, fileAccess)),
    vendorId: Number.parseInt(vendor.value, 16),
    deviceId: await readDeviceId(facts.get("PCI_ID") ?? "", device, fileAccess),
    revision: revision.ok ? Number.parseInt(revision.value, 16) : undefined,
    renderNode: render === undefined ? undefined : Number(render),
  };
}

async function linkName(link: string, fileAccess: FileAccess): Promise<string> {
  const target = await readLink(link, fileAccess);
  return target.ok ? path.basename(target.value) : "";
}

/** `device` links to a folder named after the address: `…/pci0000:00/0000:00:03.1/0000:03:00.0`. */
async function pathAddress(device: string, fileAccess: FileAccess): Promise<string | undefined> {
  const real = await resolvePath(device, fileAccess);
  return real.ok ? parsePciAddress(path.basename(real.value)) : undefined;
}

/** PCI_ID is `1002:744C`. */
async function readDeviceId(
  pciId: string,
  device: string,
  fileAccess: FileAccess,
): Promise<number> {
  const deviceId = /^[0-9a-f]{1,4}:([0-9a-f]{1,4})$/i.exec(pciId)?.[1];
  if (deviceId !== undefined) return Number.parseInt(deviceId, 16);
  const own = await readText(`${device}/device`, 64, fileAccess);
  return own.ok ? Number.parseInt(own.value, 16) : Number.NaN;
}

/** Parses KEY=value lines. */
export function parseUevent(text: string): ReadonlyMap<string, string> {
  const facts = new Map<string, string>();
  for (const line of text.split("\n")) {
    const equals = line.indexOf("=");
    if (equals > 0) facts.set(line.slice(0, equals), line.slice(equals + 1).trim());
  }
  return facts;
}
