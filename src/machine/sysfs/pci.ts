/** Reads the PCI core's own files of a device: its link, its errors, whether it sleeps. Reading them never wakes it. */
import type { FileAccess } from "./file-access.ts";
import { readNumber, readText, resolvePath } from "./read.ts";
import { failed, present, type ReadResult, unsupported } from "./read-result.ts";

/** domain:bus:device.function in lower case; undefined for anything else. A domain has four digits, or more behind Intel VMD. */
export function parsePciAddress(text: string): string | undefined {
  const address = text.toLowerCase();
  return /^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/.test(address) ? address : undefined;
}

/** `744c`, for a card that is in no table. */
export const pciIdText = (deviceId: number): string =>
  Number.isNaN(deviceId) ? "of unknown model" : deviceId.toString(16).padStart(4, "0");

export type SleepState = "awake" | "asleep" | "gone";

/**
 * Reads runtime_status, then power_state if that is inconclusive. A device about to sleep counts as asleep, since a read would
 * keep it awake. `gone` means that not even the vendor can be read.
 */
export async function readSleepState(device: string, fileAccess: FileAccess): Promise<SleepState> {
  const status = await readText(`${device}/power/runtime_status`, 64, fileAccess);
  if (status.ok && /^suspend(?:ed|ing)$/.test(status.value)) return "asleep";
  if (status.ok && /^(?:active|resuming)$/.test(status.value)) return "awake";
  const power = await readText(`${device}/power_state`, 64, fileAccess);
  if (power.ok) return power.value.startsWith("D3") ? "asleep" : "awake";
  const vendor = await readText(`${device}/vendor`, 64, fileAccess);
  return vendor.ok ? "awake" : "gone";
}

const generations: readonly number[] = [2.5, 5, 8, 16, 32, 64];

/** The PCIe generation with this speed in GT/s. */
export function pcieGeneration(gigatransfers: number): ReadResult<number> {
  const place = generations.indexOf(gigatransfers);
  return place === -1 ? failed : present(place + 1);
}

/** `16.0 GT/s PCIe`, on older kernels `8 GT/s`. A device that is not PCIe reports `Unknown`. */
export function parseLinkSpeed(text: string): ReadResult<number> {
  if (/^unknown/i.test(text)) return unsupported;
  const match = /^(\d{1,3}(?:\.\d{1,2})?) GT\/s/.exec(text);
  return match === null ? failed : pcieGeneration(Number(match[1]));
}

export async function readLinkGeneration(
  device: string,
  which: "current" | "max",
  fileAccess: FileAccess,
): Promise<ReadResult<number>> {
  const text = await readText(`${device}/${which}_link_speed`, 64, fileAccess);
  return text.ok ? parseLinkSpeed(text.value) : text;
}

/** 0 means a device without a link, 255 one that does not respond. */
export async function readLinkWidth(
  device: string,
  which: "current" | "max",
  fileAccess: FileAccess,
): Promise<ReadResult<number>> {
  const width = await readNumber(`${device}/${which}_link_width`, fileAccess);
  if (width.ok && width.value === 0) return unsupported;
  return width.ok && width.value >= 255 ? failed : width;
}

/**
 * The folder that reports the slot's link. A card with its own switch reports the link inside the card; the switch's upstream
 * port, a bridge of the same vendor above it, reports the link to the slot.
 */
export async function findSlotPort(device: string, fileAccess: FileAccess): Promise<string> {
  const vendor = await readText(`${device}/vendor`, 64, fileAccess);
  const real = await resolvePath(device, fileAccess);
  if (!vendor.ok || !real.ok) return device;
  let port = device;
  let folder = real.value;
  for (let step = 0; step < 2; step++) {
    folder = folder.slice(0, folder.lastIndexOf("/"));
    const above = await readText(`${folder}/vendor`, 64, fileAccess);
    if (!above.ok || above.value !== vendor.value) break;
    port = folder;
  }
  return port;
}

export const aerSeverities = ["correctable", "nonfatal", "fatal"] as const;
export type AerSeverity = (typeof aerSeverities)[number];

/** The last line of aer_dev_*: `TOTAL_ERR_COR 0`. */
export function parseAerTotal(text: string): ReadResult<number> {
  const match = /^TOTAL_ERR_\w+ (\d{1,15})$/m.exec(text);
  return match === null ? failed : present(Number(match[1]));
}

export async function readAerTotal(
  device: string,
  severity: AerSeverity,
  fileAccess: FileAccess,
): Promise<ReadResult<number>> {
  const text = await readText(`${device}/aer_dev_${severity}`, 4_096, fileAccess);
  return text.ok ? parseAerTotal(text.value) : text;
}
