/** Converts cells to numbers in base units, exactly as written: a decimal is scaled by its exponent, never by a binary fraction. */
import type { AbsenceReason } from "../../model/presence.ts";

/** The quantity of a column; with its unit it determines the conversion to the base unit. */
export type GpuzQuantity =
  | "clock"
  | "temperature"
  | "share"
  | "turns"
  | "memory"
  | "power"
  | "voltage"
  | "current"
  | "throughput"
  | "plain";

export type GpuzCell = number | AbsenceReason;

/** The value in the base unit is the decimal times a power of ten, then `finish` if another base or an offset is needed. */
export interface UnitConversion {
  readonly exponent: number;
  readonly finish?: (value: number) => number;
}

const times10 = (exponent: number): UnitConversion => ({ exponent });
const times = (factor: number): UnitConversion => ({
  exponent: 0,
  finish: (value) => value * factor,
});
/** The number as written. */
export const asWritten = times10(0);

const units: Readonly<
  Record<Exclude<GpuzQuantity, "plain">, Readonly<Record<string, UnitConversion>>>
> = {
  clock: { MHz: times10(6), GHz: times10(9), kHz: times10(3) },
  temperature: {
    "\u00b0C": asWritten,
    C: asWritten,
    "\u00b0F": { exponent: 0, finish: (value) => ((value - 32) * 5) / 9 },
  },
  share: { "%": times10(-2), "% TDP": times10(-2) },
  turns: { RPM: asWritten },
  memory: { MB: times(2 ** 20), GB: times(2 ** 30), KB: times(2 ** 10) },
  power: { W: asWritten, mW: times10(-3) },
  voltage: { V: asWritten, mV: times10(-3) },
  current: { A: asWritten, mA: times10(-3) },
  throughput: { "GB/s": times10(9), "MB/s": times10(6), "KB/s": times10(3) },
};

/** The conversion of a column's cells; undefined if its unit does not fit its quantity. */
export function converter(quantity: GpuzQuantity, unit: string): UnitConversion | undefined {
  if (quantity === "plain") return asWritten;
  // The unit comes from the file: `[constructor]` must not match an inherited property.
  return Object.hasOwn(units[quantity], unit) ? units[quantity][unit] : undefined;
}

/** Values that drivers write for "unknown": all ones in 16 and 32 bits. Memory in MB may really be 65535. */
const sentinels = new Set([65_535, 4_294_967_295]);

export const isSentinel = (text: string | undefined, quantity: GpuzQuantity): boolean =>
  quantity !== "memory" && text !== undefined && sentinels.has(Number(text));

export function readCell(
  text: string | undefined,
  quantity: GpuzQuantity,
  { exponent, finish }: UnitConversion,
): GpuzCell {
  if (text === undefined || text === "") return "failed";
  const decimals = decimalsOf(text);
  if (decimals === -1) return text === "-" || /^n\/?a$/i.test(text) ? "unsupported" : "failed";
  const raw = scaled(text, decimals, 0);
  if (quantity !== "memory" && sentinels.has(raw)) return "failed";
  // A running card never reads exactly 0 degrees or 0 volts: GPU-Z writes that for a sensor the board does not have.
  if (raw === 0 && (quantity === "temperature" || quantity === "voltage")) return "unsupported";
  const value = exponent === 0 ? raw : scaled(text, decimals, exponent);
  return finish === undefined ? value : finish(value);
}

const powersOfTen = Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));
/** The digits of the last text that `decimalsOf` parsed, as an integer; NaN if there are too many to be exact. */
let mantissa = 0;

/** The number of decimals of `[+-]ddd.ddd`, with at most 15 digits before the point and 9 after it; -1 for any other text. */
function decimalsOf(text: string): number {
  const sign = text.charCodeAt(0);
  const start = sign === 0x2b || sign === 0x2d ? 1 : 0;
  let [point, at, value] = [-1, start, 0];
  for (; at < text.length; at++) {
    const digit = text.charCodeAt(at) - 0x30;
    if (digit >= 0 && digit <= 9) value = value * 10 + digit;
    else if (digit === -2 && point === -1) point = at;
    else return -1;
  }
  const whole = (point === -1 ? at : point) - start;
  const decimals = point === -1 ? 0 : at - point - 1;
  if (whole < 1 || whole > 15 || decimals > 9 || (point !== -1 && decimals === 0)) return -1;
  mantissa = whole + decimals > 15 ? Number.NaN : sign === 0x2d ? -value : value;
  return decimals;
}

/**
 * `text` times a power of ten, rounded once as `Number` would round the written decimal: an integer below 2^53 and a power of
 * ten up to 1e22 are exact, so their product or quotient is.
 */
function scaled(text: string, decimals: number, exponent: number): number {
  if (Number.isNaN(mantissa)) return Number(`${text}e${exponent}`);
  const power = exponent - decimals;
  return power >= 0
    ? mantissa * (powersOfTen[power] ?? Number.NaN)
    : mantissa / (powersOfTen[-power] ?? Number.NaN);
}
