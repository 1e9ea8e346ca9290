/**
 * The wire format of `/api/live` and `/api/fleet`. The browser app reads this file too, so it contains types and constants only:
 * nothing that needs Node or reads a clock.
 *
 *   event: fleet   once on connect, and again when devices or their limits change: everything, with history
 *   event: frame   once a second: one row per device, in the order of the last fleet event
 *   event: changes instead of a frame, for clients that requested `?changes=1` and have the previous frame
 *
 * Clients that requested `?columns=1` get fleet and frame by columns (`fleet-columns.ts`).
 */
import type { BoundWord } from "../../model/bound.ts";
import type { Tier, Unit } from "../../model/catalogue/entry.ts";

/** Increased when an older page can no longer read the data. */
export const SCHEMA = 1;

/** `stale`: the frame with the reading is too old, or has not arrived yet. */
export const wireAbsences = [
  "unsupported",
  "denied",
  "asleep",
  "failed",
  "stale",
  "exporter reports 0",
] as const;
export type WireAbsence = (typeof wireAbsences)[number];

/** A number in the column's base unit, or the reason for its absence. Never 0 for a missing reading. */
export type WireValue = number | WireAbsence;

/** The columns of a row in wire order. New columns are appended, so that older readers keep their positions. */
export const columnKeys = [
  "up",
  "utilization",
  "memoryUsed",
  "memoryUsedRatio",
  "power",
  "powerLimit",
  "temperatureEdge",
  "temperatureHotspot",
  "temperatureMemory",
  "temperatureMargin",
  "clockSm",
  "clockGraphics",
  "clockMemory",
  "fan",
  "eccUncorrected",
  "encoder",
  "decoder",
  "video",
  "pcieRx",
  "pcieTx",
  "linkGeneration",
  "linkWidth",
  "interconnectRxTotal",
  "interconnectTxTotal",
  "energyTotal",
  "energyIntegratedTotal",
  "smActivity",
  "tensorActivity",
  "dramActivity",
  "healthState",
] as const;
export type ColumnKey = (typeof columnKeys)[number];

/** Values that change so rarely that they are sent with the device. */
export const factKeys = [
  "memoryTotal",
  "powerLimitDefault",
  "limitTarget",
  "limitSlowdown",
  "limitShutdown",
  "limitMemory",
  "clockMaxSm",
  "clockMaxGraphics",
  "linkGenerationMax",
  "linkWidthMax",
] as const;
export type FactKey = (typeof factKeys)[number];

/** The metrics whose last minutes are kept for curves. */
export const historyKeys = ["utilization", "memoryUsedRatio", "power", "temperatureEdge"] as const;
export type HistoryKey = (typeof historyKeys)[number];

export interface WireColumn {
  readonly key: ColumnKey;
  readonly metric: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly unit: Unit;
  readonly tier: Tier;
  readonly help: string;
}

export interface WireDevice {
  readonly uuid: string;
  readonly index: number;
  readonly host: string;
  readonly vendor: string;
  readonly model: string;
  readonly simulated: boolean;
  readonly source: string;
  readonly pciBusId?: string | undefined;
  readonly driver?: string | undefined;
  readonly vbios?: string | undefined;
  readonly linkType?: string | undefined;
  readonly facts: Readonly<Record<FactKey, WireValue>>;
}

export interface WireXid {
  readonly xid: string;
  readonly count: number;
  readonly lastMs?: number;
}

export interface WireRow {
  /** In the order of `columnKeys`. */
  readonly values: readonly WireValue[];
  /** Age of the readings when the frame was sent, by tier; absent for a tier without a fresh frame. */
  readonly ageMs: Readonly<Partial<Record<Tier, number>>>;
  /** The current throttle reasons, or why they are unknown. */
  readonly throttle: readonly string[] | WireAbsence;
  /** The bottleneck of the GPU's work, or why it is unknown; absent from hubs before 0.3. */
  readonly bound?: BoundWord | WireAbsence;
  readonly job?: string;
  readonly user?: string;
  readonly xids?: readonly WireXid[];
}

export interface LiveFrame {
  /** The fleet event that the rows refer to; rows of any other are dropped. */
  readonly fleet: number;
  readonly timeMs: number;
  /** One sentence per source that does not deliver. */
  readonly problems: readonly string[];
  readonly rows: readonly WireRow[];
}

/** Column, new values, and their rows, each as the distance from the previous one; all rows if absent. */
export type WireColumnChanges = readonly [
  column: number,
  values: readonly WireValue[],
  distances?: readonly number[],
];

/** The differences from the frame of `baseMs`. Values have four significant digits. */
export interface WireChanges {
  readonly fleet: number;
  readonly baseMs: number;
  readonly timeMs: number;
  readonly problems: readonly string[];
  readonly columns: readonly WireColumnChanges[];
  /** The distinct ages, and the index of each row's age. */
  readonly ages: readonly WireRow["ageMs"][];
  readonly ageOf: readonly number[];
  /** Rows that differ in anything besides values and ages. */
  readonly rows: readonly (readonly [at: number, rest: Omit<WireRow, "values" | "ageMs">])[];
}

export interface WireHistory {
  /** The second of the last point, since the epoch. Points are a second apart. */
  readonly endSecond: number;
  readonly keys: readonly HistoryKey[];
  /** By device, then by key; null without a reading. */
  readonly points: readonly (readonly (readonly (number | null)[])[])[];
}

export interface WireFleet {
  readonly schema: number;
  readonly fleet: number;
  readonly version: string;
  readonly host: string;
  /** True if any device is simulated; each device has its own flag too. */
  readonly simulated: boolean;
  readonly columns: readonly WireColumn[];
  readonly devices: readonly WireDevice[];
  readonly history: WireHistory;
  readonly frame: LiveFrame;
}

/** The last event of a stream that the hub ends on purpose. */
export interface WireClosed {
  readonly reason: string;
  readonly retryAfterSeconds: number;
}
