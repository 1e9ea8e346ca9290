/**
 * Encodes a fleet by columns for pages: a quarter of its JSON after compression, because equal and similar values are adjacent. The
 * hub encodes, the page decodes. Values are those of `changes` events: four significant digits, without the counters that no page
 * shows.
 */
import { ageColumns, isOmitted, restOf, rounded } from "./changes.ts";
import { decodeCurve, encodeCurve } from "./curve-text.ts";
import { HISTORY_SECONDS } from "./history.ts";
import {
  columnKeys,
  type FactKey,
  factKeys,
  type HistoryKey,
  type LiveFrame,
  type WireDevice,
  type WireFleet,
  type WireRow,
  type WireValue,
} from "./protocol.ts";

/** A value per row; a single one if all rows have the same. */
type Column<Value> = readonly Value[];

const deviceKeys = [
  "uuid",
  "index",
  "host",
  "vendor",
  "model",
  "simulated",
  "source",
  "pciBusId",
  "driver",
  "vbios",
  "linkType",
] as const satisfies readonly (keyof WireDevice)[];

type RowRest = Omit<WireRow, "values" | "ageMs">;

export interface WireFrameColumns extends Omit<LiveFrame, "rows"> {
  readonly count: number;
  /** In the order of `columnKeys`. */
  readonly values: readonly Column<WireValue>[];
  readonly ages: readonly WireRow["ageMs"][];
  readonly ageOf: Column<number>;
  /** The distinct rests of rows, and the index of each row's rest. */
  readonly rests: readonly RowRest[];
  readonly restOf: Column<number>;
}

export interface WireFleetColumns extends Omit<WireFleet, "devices" | "history" | "frame"> {
  readonly devices: Readonly<Record<(typeof deviceKeys)[number], Column<unknown>>>;
  readonly facts: Readonly<Record<FactKey, Column<WireValue>>>;
  readonly history: Omit<WireFleet["history"], "points"> & {
    /** By key: the steps of the history that the curves count in. */
    readonly grains: readonly number[];
    /** By key, then by device: the points as text of `encodeCurve`. */
    readonly curves: readonly (readonly string[])[];
  };
  readonly frame: WireFrameColumns;
}

/**
 * The grains of curves that are shortened because the fleet is large: 1 % of utilization and memory, 7 W, 1 °C, still finer than a
 * pixel of the table's curves. They make the history of 2,000 GPUs a third of its size.
 */
const coarse: Readonly<Record<HistoryKey, number>> = {
  utilization: 2,
  memoryUsedRatio: 2,
  power: 14,
  temperatureEdge: 2,
};

export function encodeFleet({ devices, history, frame, ...rest }: WireFleet): WireFleetColumns {
  const { points, keys, endSecond } = history;
  const isShortened = (points[0]?.[0]?.length ?? 0) < HISTORY_SECONDS;
  const grains = keys.map((key) => (isShortened ? coarse[key] : 1));
  return {
    ...rest,
    devices: byKey(deviceKeys, (key) => column(devices.map((device) => device[key]))),
    facts: byKey(factKeys, (key) => column(devices.map(({ facts }) => facts[key]))),
    history: {
      endSecond,
      keys,
      grains,
      curves: keys.map((key, at) =>
        points.map((curves) => encodeCurve(key, curves[at] ?? [], grains[at])),
      ),
    },
    frame: encodeFrame(frame),
  };
}

export type EncodedHistory = WireFleetColumns["history"];

/** A fleet whose curves are decoded when they are needed: a page shows those of a few of its GPUs. */
export interface DecodedFleet extends Omit<WireFleet, "history"> {
  readonly history: EncodedHistory;
}

export function decodeFleet(encoded: WireFleetColumns): DecodedFleet {
  const { devices, facts, frame, ...rest } = encoded;
  const { count } = frame;
  return {
    ...rest,
    devices: Array.from({ length: count }, (_, at) => ({
      // Encoded from a `WireDevice` by the hub that this page came from; JSON has null for undefined.
      ...(byKey(deviceKeys, (key) => valueAt(devices[key], at) ?? undefined) as unknown as Omit<
        WireDevice,
        "facts"
      >),
      facts: byKey(factKeys, (key) => valueAt(facts[key], at) ?? "stale"),
    })),
    frame: decodeFrame(frame),
  };
}

/** The curves of one device, in the order of `history.keys`. */
export const decodeCurves = (
  { keys, grains, curves }: EncodedHistory,
  place: number,
): (number | null)[][] =>
  keys.map((key, nth) => decodeCurve(key, curves[nth]?.[place] ?? "", grains[nth]));

export function encodeFrame({ rows, ...rest }: LiveFrame): WireFrameColumns {
  const ages = ageColumns(rows);
  const indexes = new Map<string, number>();
  const indexOf = rows.map((row) => {
    const key = JSON.stringify(restOf(row));
    const known = indexes.get(key) ?? indexes.size;
    indexes.set(key, known);
    return known;
  });
  return {
    ...rest,
    count: rows.length,
    values: columnKeys.map((_, at) =>
      isOmitted[at] === true
        ? ["stale"]
        : column(rows.map(({ values }) => rounded(values[at] ?? "stale"))),
    ),
    ages: ages.ages,
    ageOf: column(ages.ageOf),
    rests: [...indexes.keys()].map((key) => JSON.parse(key) as RowRest),
    restOf: column(indexOf),
  };
}

export function decodeFrame({
  count,
  values,
  ages,
  ageOf,
  rests,
  restOf: indexOf,
  ...rest
}: WireFrameColumns): LiveFrame {
  const rows = Array.from({ length: count }, (_, at): WireRow => ({
    ...(rests[valueAt(indexOf, at) ?? -1] ?? { throttle: "stale" }),
    values: columnKeys.map((_key, nth) => valueAt(values[nth], at) ?? "stale"),
    ageMs: ages[valueAt(ageOf, at) ?? -1] ?? {},
  }));
  return { ...rest, rows };
}

function column<Value>(values: readonly Value[]): Column<Value> {
  const [first] = values;
  return values.length > 1 && values.every((value) => value === first)
    ? values.slice(0, 1)
    : values;
}

const valueAt = <Value>(values: Column<Value> | undefined, at: number): Value | undefined =>
  values?.length === 1 ? values[0] : values?.[at];

const byKey = <Key extends string, Value>(
  keys: readonly Key[],
  valueOf: (key: Key) => Value,
): Record<Key, Value> =>
  Object.fromEntries(keys.map((key) => [key, valueOf(key)])) as Record<Key, Value>;
