/** Formats a value in a readable unit, for charts and tooltips with values of very different size. Never called for an absent value. */
import type { Unit } from "../../../src/model/catalogue/entry.ts";
import { formatFixedPoint, type FormattedQuantity, formatWithUnit } from "./quantity.ts";

interface Size {
  readonly unit: string;
  readonly divisor: number;
}

const decimal = (unit: string, ...prefixes: readonly (readonly [string, number])[]): Size[] =>
  prefixes.map(([prefix, divisor]) => ({ unit: `${prefix}${unit}`, divisor }));

const [k, M, G, T] = [
  ["k", 1e3],
  ["M", 1e6],
  ["G", 1e9],
  ["T", 1e12],
] as const;
const plain = ["", 1] as const;

/** Smallest first. */
const sizes: Readonly<Record<Unit, readonly Size[]>> = {
  none: [
    { unit: "", divisor: 1 },
    { unit: "M", divisor: 1e6 },
    { unit: "G", divisor: 1e9 },
  ],
  ratio: [{ unit: "%", divisor: 0.01 }],
  celsius: [{ unit: "°C", divisor: 1 }],
  rpm: [{ unit: "rpm", divisor: 1 }],
  bytes: [
    { unit: "B", divisor: 1 },
    { unit: "KiB", divisor: 1024 },
    { unit: "MiB", divisor: 1024 ** 2 },
    { unit: "GiB", divisor: 1024 ** 3 },
    { unit: "TiB", divisor: 1024 ** 4 },
    { unit: "PiB", divisor: 1024 ** 5 },
  ],
  bytes_per_second: decimal("B/s", plain, k, M, G, T),
  watts: decimal("W", ["m", 1e-3], plain, k, M),
  volts: decimal("V", ["m", 1e-3], plain, k),
  joules: decimal("J", plain, k, M, G, T),
  hertz: decimal("Hz", plain, k, M, G),
  seconds: [
    { unit: "ns", divisor: 1e-9 },
    { unit: "µs", divisor: 1e-6 },
    { unit: "ms", divisor: 1e-3 },
    { unit: "s", divisor: 1 },
    { unit: "min", divisor: 60 },
    { unit: "h", divisor: 3_600 },
    { unit: "d", divisor: 86_400 },
  ],
};

/** Clocks are compared in MHz and volts in V: a unit that changes at 1 would hide that two values are close. */
const switchAt: Readonly<Partial<Record<Unit, number>>> = {
  hertz: 10,
  watts: 10,
  seconds: 2,
  volts: 0.05,
};

/** Returns the unit for a chart whose largest value is this. */
export function sizeFor(largest: number, unit: Unit): Size {
  const all = sizes[unit];
  const from = switchAt[unit] ?? 1;
  const value = Math.abs(largest);
  const fits = all.findLast(
    ({ divisor }) => value >= divisor * (divisor > 1 || unit === "volts" ? from : 1),
  );
  const base = all.find(({ divisor }) => divisor === 1) ?? all[0];
  if (value === 0 || fits === undefined)
    return (value === 0 ? base : all[0]) ?? { unit: "", divisor: 1 };
  return fits;
}

/** Formats with four significant digits, more for counts, for a chart's legend and tooltip. */
export function toReadableQuantity(
  value: number,
  unit: Unit,
  size: Size = sizeFor(value, unit),
): FormattedQuantity {
  if (!Number.isFinite(value)) return { text: value > 0 ? "∞" : "−∞", unit: "" };
  const scaled = value / size.divisor;
  return { text: formatFixedPoint(scaled, digitsFor(Math.abs(scaled))), unit: size.unit };
}

function digitsFor(value: number): number {
  // 0.00042 s are 420.00000000000006 µs, which should appear as an integer.
  if (value >= 1_000 || Math.abs(value - Math.round(value)) < 1e-9 * value || value === 0) return 0;
  if (value >= 100) return 1;
  if (value >= 10) return 2;
  return value >= 0.001 ? 3 : 6;
}

/** `1 980 MHz` as one text. */
export const formatReadable = (value: number, unit: Unit): string =>
  formatWithUnit(toReadableQuantity(value, unit));
