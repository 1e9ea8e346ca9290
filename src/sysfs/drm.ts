/** The graphics cards under class/drm, as the kernel numbers them. Finds them without waking any. */
import type { FileDoor } from "./door.ts";
import { listDir, readText } from "./read.ts";
import type { AbsenceReason } from "../model/presence.ts";

export interface DrmCard {
  /** `card0`. The number has gaps, and may change when a driver is loaded again. */
  readonly name: string;
  /** Its PCI device's folder. */
  readonly device: string;
  readonly driver: string;
  /** domain:bus:device.function, lower case. */
  readonly pciBusId: string;
  readonly vendorId: number;
  readonly deviceId: number;
  readonly revision: number | undefined;
}

export interface DrmCards {
  readonly cards: readonly DrmCard[];
  /** Why class/drm itself could not be listed. */
  readonly absent?: AbsenceReason;
}

/** Cards of one vendor, in the order of their numbers. Connectors (`card0-DP-1`) and render nodes are none. */
export async function findDrmCards(
  sysfs: string,
  vendorId: number,
  door: FileDoor,
): Promise<DrmCards> {
  const folder = `${sysfs}/class/drm`;
  const names = await listDir(folder, door);
  if (!names.ok) return { cards: [], absent: names.reason };
  const numbers = names.value
    .flatMap((name) => /^card(\d{1,6})$/.exec(name)?.[1] ?? [])
    .map(Number)
    .toSorted((a, b) => a - b);
  const cards = await Promise.all(
    numbers.map((number) => describeCard(`card${number}`, `${folder}/card${number}/device`, door)),
  );
  return { cards: cards.flatMap((card) => (card?.vendorId === vendorId ? card : [])) };
}

async function describeCard(
  name: string,
  device: string,
  door: FileDoor,
): Promise<DrmCard | undefined> {
  const [vendor, uevent] = await Promise.all([
    readText(`${device}/vendor`, 64, door),
    readText(`${device}/uevent`, 4_096, door),
  ]);
  if (!vendor.ok || !uevent.ok) return undefined;
  const facts = parseUevent(uevent.value);
  const [, deviceId = ""] = (facts.get("PCI_ID") ?? "").split(":");
  const revision = await readText(`${device}/revision`, 64, door);
  return {
    name,
    device,
    driver: facts.get("DRIVER") ?? "",
    pciBusId: (facts.get("PCI_SLOT_NAME") ?? "").toLowerCase(),
    vendorId: Number.parseInt(vendor.value, 16),
    deviceId: Number.parseInt(deviceId, 16),
    revision: revision.ok ? Number.parseInt(revision.value, 16) : undefined,
  };
}

/** Lines of KEY=value. */
export function parseUevent(text: string): ReadonlyMap<string, string> {
  const facts = new Map<string, string>();
  for (const line of text.split("\n")) {
    const equals = line.indexOf("=");
    if (equals > 0) facts.set(line.slice(0, equals), line.slice(equals + 1).trim());
  }
  return facts;
}
