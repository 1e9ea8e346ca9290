/** The inputs of one card's channels: its folder, the files in it, its sensors and its metrics table. */
import type { FileAccess } from "../../machine/sysfs/file-access.ts";
import type { DrmCard } from "../../machine/sysfs/drm.ts";
import { type HwmonChannel, readHwmon } from "../../machine/sysfs/hwmon.ts";
import { findSlotPort } from "../../machine/sysfs/pci.ts";
import { listDir, readBytes, readSensor } from "../../machine/sysfs/read.ts";
import {
  failed,
  mapReadResult,
  present,
  type ReadResult,
} from "../../machine/sysfs/read-result.ts";
import { type CardChannel, oncePerTick } from "../cards.ts";
import { type AmdFamily, familyOf } from "./family.ts";
import { decodeGpuMetrics } from "./gpu-metrics/decode.ts";
import { interpretGpuMetrics, type MetricsReadings } from "./gpu-metrics/interpret.ts";

export interface AmdCardContext {
  readonly card: DrmCard;
  readonly fileAccess: FileAccess;
  readonly family: AmdFamily;
  /** File names in the card's folder. */
  readonly files: ReadonlySet<string>;
  readonly hwmon: readonly HwmonChannel[];
  readonly metrics: MetricsFile;
  /** The metrics table as read when the channels were discovered; undefined if there is none. */
  readonly initialMetrics: MetricsReadings | undefined;
  readonly isApu: boolean;
  /** The folder that reports the link to the slot. */
  readonly port: string;
}

/** Inspects the folder of a card that is awake. */
export async function openCardContext(
  card: DrmCard,
  fileAccess: FileAccess,
  metrics: MetricsFile,
  timeMs: number,
): Promise<AmdCardContext> {
  const [names, hwmon, table, port] = await Promise.all([
    listDir(card.device, fileAccess),
    readHwmon(card.device, fileAccess),
    metrics.read(timeMs),
    findSlotPort(card.device, fileAccess),
  ]);
  const initialMetrics = table.ok ? table.value : undefined;
  return {
    card,
    fileAccess,
    family: familyOf(card.deviceId),
    files: new Set(names.ok ? names.value : []),
    hwmon,
    metrics,
    initialMetrics,
    // Only APUs have the north bridge's rail, including those too old for a metrics table.
    isApu:
      initialMetrics?.isApu ?? hwmon.some(({ kind, label }) => kind === "in" && label === "vddnb"),
    port,
  };
}

/** Reads a number from a file of the card's folder, scaled. */
export function fromFile(context: AmdCardContext, file: string, factor = 1): CardChannel["read"] {
  return async () =>
    mapReadResult(await readSensor(`${context.card.device}/${file}`, context.fileAccess), (value) =>
      scale(value, factor),
    );
}

export function fromHwmon(
  channel: HwmonChannel,
  attribute: string,
  factor: number,
): CardChannel["read"] {
  return async () => mapReadResult(await channel.read(attribute), (value) => scale(value, factor));
}

/** Reads a value of the metrics table. The value existed at discovery, so a table without it is a failed read, not a missing feature. */
export function fromTable(
  context: AmdCardContext,
  pick: (readings: MetricsReadings) => number | undefined,
): CardChannel["read"] {
  return async (timeMs) => {
    const table = await context.metrics.read(timeMs);
    if (!table.ok) return table;
    const value = pick(table.value);
    return value === undefined ? failed : present(value);
  };
}

/** Divides by the inverse if the factor is below 1, so that 818 mV becomes exactly 0.818 V. */
function scale(value: number, factor: number): number {
  return factor < 1 ? value / Math.round(1 / factor) : value * factor;
}

/** Twice the largest known table. */
const maxTableBytes = 8_192;

/** Reads a card's gpu_metrics at most once per tick, and keeps the previous reading for values derived from a difference. */
export class MetricsFile {
  readonly read: (timeMs: number) => Promise<ReadResult<MetricsReadings>>;
  #now: MetricsReadings | undefined;
  #before: MetricsReadings | undefined;

  constructor(device: string, fileAccess: FileAccess) {
    this.read = oncePerTick(async () => {
      const bytes = await readBytes(`${device}/gpu_metrics`, maxTableBytes, fileAccess);
      const decoded = bytes.ok ? decodeGpuMetrics(bytes.value) : bytes;
      if (!decoded.ok) return decoded;
      const readings = interpretGpuMetrics(decoded.value);
      this.#before = this.#now;
      this.#now = readings;
      return present(readings);
    });
  }

  /** The reading before the last one. */
  get before(): MetricsReadings | undefined {
    return this.#before;
  }
}
