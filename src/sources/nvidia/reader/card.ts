/** A GPU or MIG instance in the worker, and the builder of its readings. */
import type { Tier } from "../../../model/catalogue/index.ts";
import type { Device } from "../../../model/device.ts";
import type { Nvml } from "../nvml/library.ts";
import {
  type GpuMetric,
  NVML_SENTINEL,
  type ProcessReading,
  SENTINEL_MARK,
  type StartSettings,
} from "../protocol.ts";
import type { TierValues } from "./latest-values.ts";
import { FieldBatch, type NvmlField } from "./fields.ts";
import type { MigInstance } from "./inventory.ts";
import type { SmClock } from "./sm-clock.ts";
import { ReadTask, type Task } from "./task.ts";

export interface NvmlCard {
  readonly device: Device;
  /** Position in the plan's devices. */
  readonly at: number;
  /** `noHandle` if NVML was shut down or no longer lists the card. */
  handle: number;
  /** Since when the card has not responded; it stays in the plan with gpu_up 0 until it is back. */
  lostSinceMs?: number;
  /** Why it is lost, for the log. */
  lossReason?: string;
  /** The MIG instance and its parent GPU; absent for a whole GPU. */
  readonly instance?: MigInstance & { readonly parent: NvmlCard };
  readonly upSlot: number;
  /** Present if the kernel may put the card to sleep. */
  readonly asleepSlot?: number;
  readonly fast: Task[];
  readonly scheduler: Task[];
  processes: readonly ProcessReading[];
  /** Slot of gpu_xid_watched; absent for a MIG instance. */
  readonly xidSlot?: number;
  utilizationRatio?: number;
  /** Absent for a MIG instance. */
  smClock?: SmClock;
  /** True if persistence mode keeps the card awake. */
  isPersistent?: boolean;
}

export const staticEveryMs = 60_000;

export type NvmlSeries = readonly [metric: GpuMetric, labels?: Readonly<Record<string, string>>];

export interface CardBuilder {
  readonly nvml: Nvml;
  readonly card: NvmlCard;
  readonly settings: StartSettings;
  readonly boards: TierValues;
  readonly random: () => number;
  readonly slot: (tier: Tier, series: NvmlSeries) => number;
  /** Adds a call that fills these series of the tier. */
  readonly reading: (
    tier: Tier,
    name: string,
    series: readonly NvmlSeries[],
    read: (out: Float64Array) => number,
  ) => Task;
  readonly fields: (
    tier: Tier,
    name: string,
    fields: readonly (Omit<NvmlField, "slot"> & { readonly series: NvmlSeries })[],
  ) => FieldBatch;
}

export function createCardBuilder(
  nvml: Nvml,
  card: NvmlCard,
  boards: TierValues,
  settings: StartSettings,
  random: () => number,
): CardBuilder {
  const periods: Record<Tier, number> = {
    fast: 0,
    slow: settings.slowEveryMs,
    static: staticEveryMs,
  };
  const slot = (tier: Tier, [metric, labels]: NvmlSeries): number =>
    boards[tier].add(metric, card.at, labels);
  return {
    nvml,
    card,
    settings,
    boards,
    random,
    slot,
    reading: (tier, name, series, read) => {
      const slots = series.map((one) => slot(tier, one));
      return new ReadTask(name, periods[tier], { board: boards[tier], slots }, read, random);
    },
    fields: (tier, name, drafts) => {
      const fields = drafts.map(({ series, ...rest }) => ({ ...rest, slot: slot(tier, series) }));
      const draft = { name, everyMs: periods[tier], board: boards[tier], fields };
      return new FieldBatch(draft, nvml, card, random);
    },
  };
}

/** Wraps a function that returns one unsigned number through a pointer; all ones is "not available". */
export function readU32(
  call: (out: Buffer) => number,
  scale: number,
): (out: Float64Array) => number {
  const buffer = Buffer.alloc(4);
  return (out) => {
    const got = call(buffer);
    const value = buffer.readUInt32LE(0);
    out[0] = value === NVML_SENTINEL ? SENTINEL_MARK : value * scale;
    return got;
  };
}
