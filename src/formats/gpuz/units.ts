/** Cells to numbers in base units, exactly as written: a decimal is scaled by its exponent, never by a binary fraction. */
import type { AbsenceReason } from "../../model/presence.ts";

/** What a column measures; its unit then says how to reach the base unit. */
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
type Convert = (decimal: string) => number;

const times10 =
  (exponent: number): Convert =>
  (decimal) =>
    Number(`${decimal}e${exponent}`);
const times =
  (factor: number): Convert =>
  (decimal) =>
    Number(decimal) * factor;

const units: Readonly<Record<Exclude<GpuzQuantity, "plain">, Readonly<Record<string, Convert>>>> = {
  clock: { MHz: times10(6), GHz: times10(9), kHz: times10(3) },
  temperature: {
    "\u00b0C": Number,
    C: Number,
    "\u00b0F": (decimal) => ((Number(decimal) - 32) * 5) / 9,
  },
  share: { "%": times10(-2), "% TDP": times10(-2) },
  turns: { RPM: Number },
  memory: { MB: times(2 ** 20), GB: times(2 ** 30), KB: times(2 ** 10) },
  power: { W: Number, mW: times10(-3) },
  voltage: { V: Number, mV: times10(-3) },
  current: { A: Number, mA: times10(-3) },
  throughput: { "GB/s": times10(9), "MB/s": times10(6), "KB/s": times10(3) },
};

/** How cells of a column become numbers; undefined where its unit does not fit what it measures. */
export function converter(quantity: GpuzQuantity, unit: string): Convert | undefined {
  if (quantity === "plain") return Number;
  // The unit comes from the file: `[constructor]` must not find what every object has.
  return Object.hasOwn(units[quantity], unit) ? units[quantity][unit] : undefined;
}

/** What drivers write for "unknown": all ones of 16 and 32 bits. Memory in MB may truly be 65535. */
const sentinels = new Set([65_535, 4_294_967_295]);

export const isSentinel = (text: string | undefined, quantity: GpuzQuantity): boolean =>
  quantity !== "memory" && text !== undefined && sentinels.has(Number(text));

export function readCell(
  text: string | undefined,
  quantity: GpuzQuantity,
  convert: Convert,
): GpuzCell {
  if (text === undefined || text === "") return "failed";
  if (text === "-" || /^n\/?a$/i.test(text)) return "unsupported";
  if (!/^[+-]?\d{1,15}(?:\.\d{1,9})?$/.test(text)) return "failed";
  const raw = Number(text);
  if (isSentinel(text, quantity)) return "failed";
  // A running card is never at exactly 0 degrees or 0 volts: GPU-Z writes that for a sensor the board does not have.
  if (raw === 0 && (quantity === "temperature" || quantity === "voltage")) return "unsupported";
  return convert(text);
}
