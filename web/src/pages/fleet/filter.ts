/**
 * The syntax of the filter: words that must all occur (model, #index, uuid, host, job, user, state), comparisons in the units of
 * the table, such as `util>50` or `temp>=80`, and labels, such as `host=node3` or `rack=b`.
 */
import type { WireValue } from "../../../../src/view/live/protocol.ts";
import { clock, type Gpu, memoryRatio, read, temperature } from "../../../../src/view/gpu.ts";
import { statusBadges } from "../../../../src/view/gpu-status.ts";
import type { Labels } from "../../query/columns.ts";
import { groupOf } from "./group.ts";

type Test = (gpu: Gpu) => boolean;

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

export type LabelsOf = (id: string) => Labels | undefined;

export function filterGpus(
  gpus: readonly Gpu[],
  text: string,
  labelsOf: LabelsOf = () => undefined,
): readonly Gpu[] {
  const tests = text
    .toLowerCase()
    .split(/\s+/)
    .filter(Boolean)
    .map((token) => testOf(token, labelsOf));
  return tests.length === 0 ? gpus : gpus.filter((gpu) => tests.every((passes) => passes(gpu)));
}

function testOf(token: string, labelsOf: LabelsOf): Test {
  const [, name = "", sign = "", amount = ""] =
    /^([a-z]+)(>=|<=|>|<|=)(-?\d+(?:\.\d+)?)%?$/.exec(token) ?? [];
  const quantity = quantities[name];
  const holds = comparisons[sign];
  if (quantity === undefined || holds === undefined) {
    const [, label, value] = /^([a-z_][a-z\d_]*)=(.+)$/.exec(token) ?? [];
    if (label !== undefined && value !== undefined)
      return (gpu) => groupOf(gpu, label, labelsOf).toLowerCase() === value;
    return (gpu) => matches(gpu, token);
  }
  return (gpu) => {
    const value = quantity(gpu);
    return typeof value === "number" && holds(value, Number(amount));
  };
}

/** `#1` matches that GPU but not #10. */
function matches(gpu: Gpu, token: string): boolean {
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
    statusBadges(gpu).some(({ text }) => text.toLowerCase().includes(token))
  );
}

const scaled = (value: WireValue, factor: number): WireValue =>
  typeof value === "number" ? value * factor : value;
