/** A GPU as the page sees it: who it is, its newest row, and what follows from both. Pure. */
import {
  type ColumnKey,
  columnKeys,
  type WireDevice,
  type WireRow,
  type WireValue,
} from "../../../src/view/live/protocol.ts";

/** From here up a GPU counts as working; below it is a display or a daemon. */
export const ACTIVE_FROM_RATIO = 0.05;

export type GpuState = "active" | "idle" | "asleep" | "silent" | "lost" | "unknown";

export interface Gpu {
  /** `UUID@HOST`: two hosts may report one uuid. Keys of tables and parts of addresses. */
  readonly id: string;
  readonly device: WireDevice;
  readonly row: WireRow;
  readonly state: GpuState;
}

const columnAt = Object.fromEntries(columnKeys.map((key, at) => [key, at])) as Record<
  ColumnKey,
  number
>;

export function gpuOf(device: WireDevice, row: WireRow): Gpu {
  return { id: gpuId(device), device, row, state: stateOf(row) };
}

export const gpuId = ({ host, uuid }: Pick<WireDevice, "host" | "uuid">): string =>
  `${uuid}@${host}`;

/** The GPU with this id; a uuid alone, as in older links, means the first GPU that has it. */
export const findGpu = (gpus: readonly Gpu[], asked: string): Gpu | undefined =>
  gpus.find(({ id }) => id === asked) ?? gpus.find(({ device }) => device.uuid === asked);

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

export function memoryRatio(gpu: Gpu): WireValue {
  const told = read(gpu, "memoryUsedRatio");
  const used = read(gpu, "memoryUsed");
  const total = memoryTotal(gpu);
  if (
    typeof told === "number" ||
    typeof used !== "number" ||
    typeof total !== "number" ||
    total === 0
  )
    return told;
  return used / total;
}

/** What the board is held to now, or the limit it came with. */
export function powerLimit(gpu: Gpu): WireValue {
  const now = read(gpu, "powerLimit");
  return typeof now === "number" ? now : firstNumber(gpu.device.facts.powerLimitDefault, now);
}

export function powerRatio(gpu: Gpu): WireValue {
  const power = read(gpu, "power");
  const limit = powerLimit(gpu);
  if (typeof power !== "number") return power;
  return typeof limit === "number" && limit > 0 ? power / limit : limit;
}

export const temperature = (gpu: Gpu): WireValue =>
  firstNumber(read(gpu, "temperatureEdge"), read(gpu, "temperatureHotspot"));

/** How close to the temperature at which it slows down: 1 is there. Cards such as the H200 report a margin and no limit. */
export function temperatureRatio(gpu: Gpu): WireValue {
  const limit = gpu.device.facts.limitSlowdown;
  const margin = read(gpu, "temperatureMargin");
  const now = temperature(gpu);
  if (typeof limit === "number" && limit > 0) {
    if (typeof margin === "number") return (limit - margin) / limit;
    return typeof now === "number" ? now / limit : now;
  }
  if (typeof margin !== "number" || typeof now !== "number" || now <= 0) return limit;
  return now / Math.max(now, now + margin);
}

/** How far below slowing down; the card's own sensor decides, which need not be the edge. */
export function temperatureMargin(gpu: Gpu): WireValue {
  const told = read(gpu, "temperatureMargin");
  const limit = gpu.device.facts.limitSlowdown;
  const now = temperature(gpu);
  if (typeof told === "number" || typeof limit !== "number" || typeof now !== "number") return told;
  return limit - now;
}

export const clock = (gpu: Gpu): WireValue =>
  firstNumber(read(gpu, "clockSm"), read(gpu, "clockGraphics"));
export const clockMax = ({ device }: Gpu): WireValue =>
  firstNumber(device.facts.clockMaxSm, device.facts.clockMaxGraphics);

/** The first that is a number; where none is, the first one's reason. */
function firstNumber(first: WireValue, second: WireValue): WireValue {
  return typeof first !== "number" && typeof second === "number" ? second : first;
}

/** Two GPUs of a model are told apart by their index, two hosts' by the host. */
export const nameOf = ({ device }: Pick<Gpu, "device">): string =>
  `${device.model} #${device.index}`;

/** The model without the maker's name in front: the column is narrow and the maker is in the model. */
export function shortModel({ model }: WireDevice): string {
  return model.replace(/^(?:NVIDIA|AMD|Intel(?:\(R\))?)\s+(?=\S)/i, "");
}

export const uuidPrefix = ({ uuid }: WireDevice): string =>
  uuid.replace(/^((?:[A-Z]+-)?[\da-f]{8}).*$/i, "$1");
