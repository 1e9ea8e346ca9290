/** A GPU as the terminal shows it: its newest row, what follows from it, and what is worth a word. Pure; absent stays absent. */
import {
  type ColumnKey,
  columnKeys,
  type WireDevice,
  type WireRow,
  type WireValue,
} from "../../view/live/protocol.ts";
import { deviceKey } from "../../model/device.ts";

export type GpuState = "active" | "idle" | "asleep" | "silent" | "lost" | "unknown";
export type Level = "note" | "warn" | "bad";

export interface Word {
  readonly text: string;
  readonly level: Level;
}

/** Tells GPUs apart, also two of different hosts that report one uuid. */
export const keyOf = ({ host, uuid }: Pick<WireDevice, "host" | "uuid">): string =>
  deviceKey(host, uuid);

export interface Gpu {
  readonly device: WireDevice;
  readonly row: WireRow;
  readonly state: GpuState;
  readonly utilization: WireValue;
  readonly memoryUsed: WireValue;
  readonly memoryTotal: WireValue;
  readonly memoryRatio: WireValue;
  readonly power: WireValue;
  readonly powerLimit: WireValue;
  readonly powerRatio: WireValue;
  readonly temperature: WireValue;
  /** Where it slows down; absent on cards that report only their margin to it. */
  readonly temperatureLimit: WireValue;
  readonly temperatureRatio: WireValue;
  readonly temperatureLevel: Level | undefined;
  readonly clock: WireValue;
  readonly clockMax: WireValue;
  readonly fan: WireValue;
  /** Worst first. */
  readonly words: readonly Word[];
}

/** From here up a GPU counts as working; below it is a display or a daemon. */
const ACTIVE_FROM_RATIO = 0.05;
/** A GPU this close below its own limit is about to slow down. */
const NEAR_LIMIT_CELSIUS = 5;
/** An XID is an event, not a state: after this long it is history. */
const XID_SHOWN_MS = 3_600_000;

const columnAt = Object.fromEntries(columnKeys.map((key, at) => [key, at])) as Record<
  ColumnKey,
  number
>;

export const readColumn = ({ values }: WireRow, key: ColumnKey): WireValue =>
  values[columnAt[key]] ?? "stale";

export function gpuOf(device: WireDevice, row: WireRow, nowMs: number): Gpu {
  const read = (key: ColumnKey): WireValue => readColumn(row, key);
  const { facts } = device;
  const [utilization, memoryUsed, power] = [read("utilization"), read("memoryUsed"), read("power")];
  const powerLimit = firstNumber(read("powerLimit"), facts.powerLimitDefault);
  const temperature = firstNumber(read("temperatureEdge"), read("temperatureHotspot"));
  const margin = read("temperatureMargin");
  const limit = facts.limitSlowdown;
  const state = stateOf(row);
  const below =
    typeof margin === "number"
      ? margin
      : typeof limit === "number" && typeof temperature === "number"
        ? limit - temperature
        : undefined;
  return {
    device,
    row,
    state,
    utilization,
    memoryUsed,
    memoryTotal: facts.memoryTotal,
    memoryRatio: firstNumber(read("memoryUsedRatio"), over(memoryUsed, facts.memoryTotal)),
    power,
    powerLimit,
    powerRatio: over(power, powerLimit),
    temperature,
    temperatureLimit: limit,
    temperatureRatio: temperatureRatio(temperature, limit, margin),
    temperatureLevel:
      below === undefined
        ? undefined
        : below <= 0
          ? "bad"
          : below <= NEAR_LIMIT_CELSIUS
            ? "warn"
            : undefined,
    clock: firstNumber(read("clockSm"), read("clockGraphics")),
    clockMax: firstNumber(facts.clockMaxSm, facts.clockMaxGraphics),
    fan: read("fan"),
    words: wordsOf(row, state, nowMs),
  };
}

function stateOf(row: WireRow): GpuState {
  if (readColumn(row, "up") === 0) return "lost";
  if (row.ageMs.fast === undefined) return "silent";
  const utilization = readColumn(row, "utilization");
  if (typeof utilization === "number") return utilization >= ACTIVE_FROM_RATIO ? "active" : "idle";
  return utilization === "asleep" ? "asleep" : "unknown";
}

const throttleWords: Readonly<Record<string, Word>> = {
  power_cap: { text: "power cap", level: "note" },
  power_brake: { text: "power brake", level: "bad" },
  thermal: { text: "thermal", level: "warn" },
  thermal_hardware: { text: "hw thermal", level: "bad" },
  sync_boost: { text: "sync boost", level: "note" },
  clock_setting: { text: "clock set", level: "note" },
};

export const throttleWord = (reason: string): Word =>
  throttleWords[reason] ?? { text: reason.replaceAll("_", " "), level: "note" };

const rank: Readonly<Record<Level, number>> = { note: 1, warn: 2, bad: 3 };

function wordsOf(row: WireRow, state: GpuState, nowMs: number): readonly Word[] {
  if (state === "lost") return [{ text: "lost", level: "bad" }];
  if (state === "silent") return [{ text: "silent", level: "warn" }];
  const words: Word[] = [];
  for (const { xid, lastMs } of row.xids ?? [])
    if (lastMs === undefined || nowMs - lastMs <= XID_SHOWN_MS)
      words.push({ text: `XID ${xid}`, level: "bad" });
  const ecc = readColumn(row, "eccUncorrected");
  if (typeof ecc === "number" && ecc > 0) words.push({ text: `ECC ${ecc}`, level: "warn" });
  if (state === "asleep") words.push({ text: "asleep", level: "note" });
  if (typeof row.throttle !== "string")
    for (const reason of row.throttle) words.push(throttleWord(reason));
  return words.sort((left, right) => rank[right.level] - rank[left.level]);
}

/** 0 when all is well; higher is worse. */
export function severity({ words, temperatureLevel }: Gpu): number {
  const loudest = words[0] === undefined ? 0 : rank[words[0].level];
  return Math.max(loudest, temperatureLevel === undefined ? 0 : rank[temperatureLevel]);
}

/** How close to the temperature at which it slows down: 1 is there. Cards such as the H200 report a margin and no limit. */
function temperatureRatio(now: WireValue, limit: WireValue, margin: WireValue): WireValue {
  if (typeof margin !== "number") return over(now, limit);
  if (typeof limit === "number" && limit > 0) return (limit - margin) / limit;
  return typeof now === "number" && now > 0 ? now / Math.max(now, now + margin) : now;
}

/** The first that is a number; where none is, the first one's reason. */
function firstNumber(first: WireValue, second: WireValue): WireValue {
  return typeof first !== "number" && typeof second === "number" ? second : first;
}

function over(part: WireValue, whole: WireValue): WireValue {
  if (typeof part !== "number") return part;
  if (typeof whole !== "number") return whole;
  return whole > 0 ? part / whole : "failed";
}

/** The model without the maker's name in front: the column is narrow and the maker is in the model. */
export function shortModel({ model }: WireDevice): string {
  return model.replace(/^(?:NVIDIA|AMD|Intel(?:\(R\))?)\s+(?=\S)/i, "");
}
