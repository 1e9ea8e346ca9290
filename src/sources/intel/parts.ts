/**
 * The graphics and media parts (GTs) of an Intel GPU and the paths of their files. xe has them under the device
 * (tile0/gt0/freq0/act_freq), i915 under the card (gt/gt0/rps_act_freq_mhz) and, before 5.18, in the card's folder (gt_act_freq_mhz).
 */
import type { FileAccess } from "../../machine/sysfs/file-access.ts";
import type { DrmCard } from "../../machine/sysfs/drm.ts";
import { listDir, readText } from "../../machine/sysfs/read.ts";

export interface GraphicsPart {
  readonly domain: "graphics" | "media";
  /** File with the clock in MHz. */
  readonly clock: string;
  readonly highestClock: string;
  /** File with the milliseconds in the deepest idle state; undefined if it is not reported. */
  readonly idleMs: string | undefined;
  readonly throttle: ThrottleFiles | undefined;
}

export interface ThrottleFiles {
  /** File that contains 1 while any reason holds the clock down. */
  readonly status: string | undefined;
  /** File with the names of all active reasons, on newer kernels. */
  readonly list: string | undefined;
  /** One file per reason, by the driver's name. */
  readonly single: ReadonlyMap<string, string>;
}

export async function findParts(
  card: DrmCard,
  cardFolder: string,
  fileAccess: FileAccess,
): Promise<readonly GraphicsPart[]> {
  const xe = await xeParts(card.device, fileAccess);
  if (xe.length > 0) return xe;
  const i915 = await i915Parts(cardFolder, fileAccess);
  return i915.length > 0 ? i915 : oldParts(cardFolder, fileAccess);
}

async function xeParts(device: string, fileAccess: FileAccess): Promise<GraphicsPart[]> {
  const parts: GraphicsPart[] = [];
  for (const tile of await numbered(device, /^tile\d{1,2}$/, fileAccess)) {
    for (const gt of await numbered(`${device}/${tile}`, /^gt\d{1,2}$/, fileAccess)) {
      const folder = `${device}/${tile}/${gt}`;
      const [names, label, idle] = await Promise.all([
        listDir(`${folder}/freq0/throttle`, fileAccess),
        readText(`${folder}/gtidle/name`, 64, fileAccess),
        listDir(`${folder}/gtidle`, fileAccess),
      ]);
      parts.push({
        // The media part's idle state is named gt1-mc, a graphics part's gt0-rc.
        domain: label.ok && label.value.endsWith("-mc") ? "media" : "graphics",
        clock: `${folder}/freq0/act_freq`,
        highestClock: `${folder}/freq0/rp0_freq`,
        idleMs:
          idle.ok && idle.value.includes("idle_residency_ms")
            ? `${folder}/gtidle/idle_residency_ms`
            : undefined,
        throttle: names.ok
          ? throttleFiles(`${folder}/freq0/throttle`, names.value, "reason_", "status")
          : undefined,
      });
    }
  }
  return parts;
}

async function i915Parts(cardFolder: string, fileAccess: FileAccess): Promise<GraphicsPart[]> {
  const parts: GraphicsPart[] = [];
  for (const gt of await numbered(`${cardFolder}/gt`, /^gt\d{1,2}$/, fileAccess)) {
    const folder = `${cardFolder}/gt/${gt}`;
    const names = await listDir(folder, fileAccess);
    const files = names.ok ? names.value : [];
    if (!files.includes("rps_act_freq_mhz")) continue;
    parts.push({
      domain: gt === "gt0" ? "graphics" : "media",
      clock: `${folder}/rps_act_freq_mhz`,
      highestClock: `${folder}/rps_RP0_freq_mhz`,
      idleMs: files.includes("rc6_residency_ms") ? `${folder}/rc6_residency_ms` : undefined,
      throttle: throttleFiles(folder, files, "throttle_reason_", "throttle_reason_status"),
    });
  }
  return parts;
}

async function oldParts(cardFolder: string, fileAccess: FileAccess): Promise<GraphicsPart[]> {
  const names = await listDir(cardFolder, fileAccess);
  if (!names.ok || !names.value.includes("gt_act_freq_mhz")) return [];
  return [
    {
      domain: "graphics",
      clock: `${cardFolder}/gt_act_freq_mhz`,
      highestClock: `${cardFolder}/gt_RP0_freq_mhz`,
      idleMs: `${cardFolder}/power/rc6_residency_ms`,
      throttle: undefined,
    },
  ];
}

async function numbered(
  folder: string,
  pattern: RegExp,
  fileAccess: FileAccess,
): Promise<string[]> {
  const names = await listDir(folder, fileAccess);
  return names.ok ? names.value.filter((name) => pattern.test(name)).toSorted() : [];
}

function throttleFiles(
  folder: string,
  names: readonly string[],
  prefix: string,
  status: string,
): ThrottleFiles | undefined {
  const single = new Map<string, string>();
  for (const name of names) {
    if (name.startsWith(prefix) && name !== status) {
      single.set(name.slice(prefix.length), `${folder}/${name}`);
    }
  }
  if (single.size === 0) return undefined;
  return {
    single,
    status: names.includes(status) ? `${folder}/${status}` : undefined,
    list: names.includes("reasons") ? `${folder}/reasons` : undefined,
  };
}
