/**
 * What travels over `/api/live` and `/api/fleet`. The browser app reads this file too, so it holds types and constants
 * only: nothing that needs Node, nothing that reads a clock.
 *
 *   event: fleet   once on connect, and again when devices or their limits change: everything, with history
 *   event: frame   once a second: one row per device, in the order of the last fleet event
 *   event: changes instead of a frame, for clients that asked with `?changes=1` and have the frame before it
 */
import type { BoundWord } from "../../model/bound.ts";
import type { Tier, Unit } from "../../model/catalogue/entry.ts";

/** Raised when an older page could no longer read what is sent. */
export const SCHEMA = 1;

/** `stale`: the frame that would hold the reading is too old to be the present, or has not come yet. */
export const wireAbsences = [
  "unsupported",
  "denied",
  "asleep",
  "failed",
  "stale",
  "exporter reports 0",
] as const;
export type WireAbsence = (typeof wireAbsences)[number];

/** A number in the column's base unit, or why there is none. Never 0 for a reading nobody made. */
export type WireValue = number | WireAbsence;

/** The columns of a row, in their order on the wire: new ones go to the end, so that older readers keep their places. */
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

/** What changes so seldom that it travels with the device. */
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
  /** Age of the readings when the frame was sent, by tier; absent where nothing fresh of that tier is there. */
  readonly ageMs: Readonly<Partial<Record<Tier, number>>>;
  /** The reasons that hold the clocks down now, or why that is unknown. */
  readonly throttle: readonly string[] | WireAbsence;
  /** What holds its work back, or why that is unknown; absent from hubs before 0.3. */
  readonly bound?: BoundWord | WireAbsence;
  readonly job?: string;
  readonly user?: string;
  readonly xids?: readonly WireXid[];
}

export interface LiveFrame {
  /** Which fleet event the rows belong to; rows of another are thrown away. */
  readonly fleet: number;
  readonly timeMs: number;
  /** One sentence for each source that does not deliver. */
  readonly problems: readonly string[];
  readonly rows: readonly WireRow[];
}

/** Column, new values, and the rows they belong to, each as the distance from the one before; all rows where absent. */
export type WireColumnChanges = readonly [
  column: number,
  values: readonly WireValue[],
  distances?: readonly number[],
];

/** What is different from the frame of `baseMs`. Values have four significant digits. */
export interface WireChanges {
  readonly fleet: number;
  readonly baseMs: number;
  readonly timeMs: number;
  readonly problems: readonly string[];
  readonly columns: readonly WireColumnChanges[];
  /** The different ages, and which of them each row has. */
  readonly ages: readonly WireRow["ageMs"][];
  readonly ageOf: readonly number[];
  /** Rows that differ in something else than values and ages. */
  readonly rows: readonly (readonly [at: number, rest: Omit<WireRow, "values" | "ageMs">])[];
}

export interface WireHistory {
  /** The second the last point belongs to, since the epoch. Points are a second apart. */
  readonly endSecond: number;
  readonly keys: readonly HistoryKey[];
  /** By device, then by key; null where there was no reading. */
  readonly points: readonly (readonly (readonly (number | null)[])[])[];
}

export interface WireFleet {
  readonly schema: number;
  readonly fleet: number;
  readonly version: string;
  readonly host: string;
  /** Whether any device is simulated; each device says so too. */
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
