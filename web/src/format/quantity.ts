/** Formats numbers with units. Never called for an absent value, which has its own text (absence.ts). */
import type { Unit } from "../../../src/model/catalogue/entry.ts";

export interface FormattedQuantity {
  readonly text: string;
  /** Empty for plain numbers. */
  readonly unit: string;
}

const GIB = 1024 ** 3;

/** Formats in the fixed unit of a table column, so that values in a column are comparable. */
export function toColumnQuantity(value: number, unit: Unit): FormattedQuantity {
  switch (unit) {
    case "ratio":
      return { text: formatFixedPoint(value * 100, 0), unit: "%" };
    case "bytes":
      return { text: formatFixedPoint(value / GIB, 1), unit: "GiB" };
    case "celsius":
      return { text: formatFixedPoint(value, 0), unit: "°C" };
    case "watts":
      return { text: formatFixedPoint(value, 0), unit: "W" };
    case "hertz":
      return { text: formatFixedPoint(value / 1e6, 0), unit: "MHz" };
    case "joules":
      return { text: formatFixedPoint(value / 1e3, 1), unit: "kJ" };
    case "volts":
      return { text: formatFixedPoint(value, 3), unit: "V" };
    case "rpm":
      return { text: formatFixedPoint(value, 0), unit: "rpm" };
    case "seconds":
      return { text: formatFixedPoint(value, 1), unit: "s" };
    case "bytes_per_second":
      return { text: formatFixedPoint(value / 1e6, 1), unit: "MB/s" };
    case "none":
      return { text: formatFixedPoint(value, 0), unit: "" };
  }
}

type Step = readonly [atLeast: number, divisor: number, unit: string, digits: number];

const larger: Readonly<Partial<Record<Unit, readonly Step[]>>> = {
  watts: [
    [1e6, 1e6, "MW", 2],
    [1e4, 1e3, "kW", 1],
  ],
  bytes: [[1024 ** 4, 1024 ** 4, "TiB", 2]],
};

/** Formats in the unit that gives the shortest text: for sums, which may cover eight GPUs or two thousand. */
export function toTotalQuantity(value: number, unit: Unit): FormattedQuantity {
  const step = larger[unit]?.find(([atLeast]) => value >= atLeast);
  if (step === undefined) return toColumnQuantity(value, unit);
  const [, divisor, name, digits] = step;
  return { text: formatFixedPoint(value / divisor, digits), unit: name };
}

/** `67 °C`, with a non-breaking space. */
export function formatWithUnit({ text, unit }: FormattedQuantity): string {
  return unit === "" ? text : `${text}\u00a0${unit}`;
}

/** Separates thousands by a narrow space, because a comma is a decimal sign in many languages. */
export function formatFixedPoint(value: number, digits: number): string {
  const text = value.toFixed(digits);
  const unsigned = Number(text) === 0 ? text.replace("-", "") : text;
  // Most figures of a page are small, and each is formatted with every update.
  if (value > -1_000 && value < 999) return unsigned;
  return unsigned.replace(/\B(?=(?:\d{3})+(?!\d))(?<!\.\d*)/g, "\u202f");
}
