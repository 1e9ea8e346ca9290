/**
 * What the filter box understands: words that must all occur (model, #index, uuid, host, job, user, state), and
 * comparisons in the units the table shows, such as `util>50` or `temp>=80`.
 */
import type { WireValue } from "../../../../src/hub/live/protocol.ts";
import type { Gpu } from "../../live/gpu.ts";
import { clock, memoryRatio, read, temperature } from "../../live/gpu.ts";
import { wordsOf } from "../../live/trouble.ts";

type Test = (gpu: Gpu, nowMs: number) => boolean;

const quantities: Readonly<Record<string, (gpu: Gpu) => WireValue>> = {
  util: (gpu) => scaled(read(gpu, "utilization"), 100),
  mem: (gpu) => scaled(memoryRatio(gpu), 100),
  power: (gpu) => read(gpu, "power"),
  temp: temperature,
  clock: (gpu) => scaled(clock(gpu), 1e-6),
  fan: (gpu) => scaled(read(gpu, "fan"), 100),
};

const comparisons: Readonly<Record<string, (left: number, right: number) => boolean>> = {
  ">": (left, right) => left > right,
  ">=": (left, right) => left >= right,
  "<": (left, right) => left < right,
  "<=": (left, right) => left <= right,
  "=": (left, right) => left === right,
};

export function filtered(gpus: readonly Gpu[], text: string, nowMs: number): readonly Gpu[] {
  const tests = text.toLowerCase().split(/\s+/).filter(Boolean).map(testOf);
  return tests.length === 0
    ? gpus
    : gpus.filter((gpu) => tests.every((passes) => passes(gpu, nowMs)));
}

function testOf(token: string): Test {
  const [, name = "", sign = "", amount = ""] =
    /^([a-z]+)(>=|<=|>|<|=)(-?\d+(?:\.\d+)?)%?$/.exec(token) ?? [];
  const quantity = quantities[name];
  const holds = comparisons[sign];
  if (quantity === undefined || holds === undefined)
    return (gpu, nowMs) => matches(gpu, token, nowMs);
  return (gpu) => {
    const value = quantity(gpu);
    return typeof value === "number" && holds(value, Number(amount));
  };
}

/** `#1` means that GPU and not #10 too. */
function matches(gpu: Gpu, token: string, nowMs: number): boolean {
  const { device, row, state } = gpu;
  if (/^#\d+$/.test(token)) return device.index === Number(token.slice(1));
  const parts = [
    device.model,
    device.vendor,
    device.uuid,
    device.host,
    device.pciBusId,
    row.job,
    row.user,
    state,
  ];
  return (
    parts.some((part) => part?.toLowerCase().includes(token) === true) ||
    wordsOf(gpu, nowMs).some(({ text }) => text.toLowerCase().includes(token))
  );
}

const scaled = (value: WireValue, factor: number): WireValue =>
  typeof value === "number" ? value * factor : value;
