/**
 * A GPU on the page and in the terminal: its identity, its newest row and the values derived from both. Pure; an absent value stays
 * absent.
 */
import {
  type ColumnKey,
  columnKeys,
  type WireDevice,
  type WireRow,
  type WireValue,
} from "./live/protocol.ts";

/** A GPU counts as active from this utilization on; below it is a display or a daemon. */
export const ACTIVE_FROM_RATIO = 0.05;

export type GpuState = "active" | "idle" | "asleep" | "silent" | "lost" | "unknown";

export interface Gpu {
  /** `UUID@HOST`, because two hosts may report one uuid. Key of tables and part of addresses. */
  readonly id: string;
  readonly device: WireDevice;
  readonly row: WireRow;
  readonly state: GpuState;
  /** Time at which the row was sent, by the sender's clock. */
  readonly timeMs: number;
}

const columnAt = Object.fromEntries(columnKeys.map((key, at) => [key, at])) as Record<
  ColumnKey,
  number
>;

export function gpuOf(device: WireDevice, row: WireRow, timeMs: number): Gpu {
  return { id: gpuId(device), device, row, state: stateOf(row), timeMs };
}

export const gpuId = ({ host, uuid }: Pick<WireDevice, "host" | "uuid">): string =>
  `${uuid}@${host}`;

/** Finds the GPU with this id. A uuid alone, as in older links, matches the first GPU that has it. */
export const findGpu = (gpus: readonly Gpu[], idOrUuid: string): Gpu | undefined =>
  gpus.find(({ id }) => id === idOrUuid) ?? gpus.find(({ device }) => device.uuid === idOrUuid);

export function read({ row }: Pick<Gpu, "row">, key: ColumnKey): WireValue {
  return row.values[columnAt[key]] ?? "stale";
}

function stateOf(row: WireRow): GpuState {
  if (read({ row }, "up") === 0) return "lost";
  if (row.ageMs.fast === undefined) return "silent";
  const utilization = read({ row }, "utilization");
  if (typeof utilization === "number") return utilization >= ACTIVE_FROM_RATIO ? "active" : "idle";
  return utilization === "asleep" ? "asleep" : "unknown";
}

export const memoryTotal = ({ device }: Gpu): WireValue => device.facts.memoryTotal;

export const memoryRatio = (gpu: Gpu): WireValue =>
  firstNumber(read(gpu, "memoryUsedRatio"), over(read(gpu, "memoryUsed"), memoryTotal(gpu)));

/** The enforced limit, or the board's default limit. */
export const powerLimit = (gpu: Gpu): WireValue =>
  firstNumber(read(gpu, "powerLimit"), gpu.device.facts.powerLimitDefault);

export const powerRatio = (gpu: Gpu): WireValue => over(read(gpu, "power"), powerLimit(gpu));

export const temperature = (gpu: Gpu): WireValue =>
  firstNumber(read(gpu, "temperatureEdge"), read(gpu, "temperatureHotspot"));

/** The temperature at which the GPU slows down. Absent on cards that report only their margin to it. */
export const temperatureLimit = ({ device }: Gpu): WireValue => device.facts.limitSlowdown;

/** Current temperature relative to the slowdown temperature: 1 has reached it. Cards such as the H200 report a margin and no limit. */
export function temperatureRatio(gpu: Gpu): WireValue {
  const [now, limit] = [temperature(gpu), temperatureLimit(gpu)];
  const margin = read(gpu, "temperatureMargin");
  if (typeof margin !== "number") return over(now, limit);
  if (typeof limit === "number" && limit > 0) return (limit - margin) / limit;
  return typeof now === "number" && now > 0 ? now / Math.max(now, now + margin) : limit;
}

/** Degrees below the slowdown temperature. The card's own margin wins, because its sensor may not be the edge sensor. */
export function temperatureMargin(gpu: Gpu): WireValue {
  const margin = read(gpu, "temperatureMargin");
  const [now, limit] = [temperature(gpu), temperatureLimit(gpu)];
  if (typeof margin === "number" || typeof limit !== "number" || typeof now !== "number")
    return margin;
  return limit - now;
}

export const clock = (gpu: Gpu): WireValue =>
  firstNumber(read(gpu, "clockSm"), read(gpu, "clockGraphics"));
export const clockMax = ({ device }: Gpu): WireValue =>
  firstNumber(device.facts.clockMaxSm, device.facts.clockMaxGraphics);

/** Returns the first number; without one, the absence reason of the first value. */
function firstNumber(first: WireValue, second: WireValue): WireValue {
  return typeof first !== "number" && typeof second === "number" ? second : first;
}

function over(part: WireValue, whole: WireValue): WireValue {
  if (typeof part !== "number") return part;
  if (typeof whole !== "number") return whole;
  return whole > 0 ? part / whole : "failed";
}

/** The index distinguishes two GPUs of a model. */
export const nameOf = ({ device }: Pick<Gpu, "device">): string =>
  `${device.model} #${device.index}`;

/** The model without the vendor's name, for narrow columns. */
export function shortModel({ model }: WireDevice): string {
  return model.replace(/^(?:NVIDIA|AMD|Intel(?:\(R\))?)\s+(?=\S)/i, "");
}

export const uuidPrefix = ({ uuid }: WireDevice): string =>
  uuid.replace(/^((?:[A-Z]+-)?[\da-f]{8}).*$/i, "$1");

export const hasSeveralHosts = (gpus: readonly Gpu[]): boolean =>
  new Set(gpus.map(({ device }) => device.host)).size > 1;

/** Undefined for an absent value, whatever the reason. */
export const numberOf = (value: WireValue): number | undefined =>
  typeof value === "number" ? value : undefined;
export const numbersOf = (values: readonly unknown[]): number[] =>
  values.filter((value) => typeof value === "number");
export const sum = (values: readonly number[]): number =>
  values.reduce((total, value) => total + value, 0);
