/** The labels of the axes: local time in 24 hours, values in the unit that suits the largest one. */
import type { Unit } from "../../../src/model/catalogue/entry.ts";
import { formatFixedPoint } from "../format/quantity.ts";
import { formatReadable, sizeFor } from "../format/readable.ts";

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAY_MS = 86_400_000;
const two = (value: number): string => String(value).padStart(2, "0");

/** `everyMs` is the distance between ticks. */
export function timeTexts(ticksMs: readonly number[], everyMs: number): string[] {
  return ticksMs.map((ms) => {
    const at = new Date(ms);
    const midnight = at.getHours() === 0 && at.getMinutes() === 0 && at.getSeconds() === 0;
    if (everyMs >= DAY_MS || midnight) return `${months[at.getMonth()] ?? ""} ${at.getDate()}`;
    const clock = `${two(at.getHours())}:${two(at.getMinutes())}`;
    return everyMs < 60_000 ? `${clock}:${two(at.getSeconds())}` : clock;
  });
}

/**
 * The smallest distance between two time labels. Labels with seconds are longer, and `isNarrow` charts get more of the short ones:
 * with wider spacing, five minutes on a phone would have a single label, at the edge.
 */
export function timeSpacePx(
  rangeMs: number,
  { plotPx, fontPx, isNarrow }: { plotPx: number; fontPx: number; isNarrow: boolean },
): number {
  const spacePx = (characters: number): number => Math.ceil(characters * 0.6 * fontPx + 19);
  const shortPx = spacePx("13:05".length);
  const hasSeconds = (rangeMs * shortPx) / plotPx < 60_000;
  return isNarrow && !hasSeconds ? shortPx : spacePx("13:05:00".length);
}

/** Blanks the labels that the right edge would cut off. Labels are centred at `shares` of the plot's width; a character is about 0.6 em. */
export function fitTexts(
  texts: readonly string[],
  shares: readonly number[],
  { plotPx, rightPx, fontPx }: { plotPx: number; rightPx: number; fontPx: number },
): string[] {
  return texts.map((text, at) => {
    const halfPx = (text.length * 0.6 * fontPx) / 2;
    return (shares[at] ?? 0) * plotPx + halfPx > plotPx + rightPx ? "" : text;
  });
}

export function valueTexts(ticks: readonly number[], unit: Unit): string[] {
  const size = sizeFor(Math.max(...ticks.map(Math.abs), 0), unit);
  const step = Math.abs((ticks[1] ?? 0) - (ticks[0] ?? 0)) / size.divisor;
  const digits = digitsOf(step);
  return ticks.map((tick) => {
    const text = formatFixedPoint(tick / size.divisor, digits);
    return size.unit === "" ? text : `${text} ${size.unit}`;
  });
}

/** Labels of a logarithmic axis, whose omitted ticks are null: one unit where it leaves no long fractions, otherwise one for each tick. */
export function logTexts(ticks: readonly (number | null)[], unit: Unit): string[] {
  const known = ticks.filter((tick) => tick !== null);
  const size = sizeFor(Math.max(...known), unit);
  const isOne = Math.min(...known) >= size.divisor / 10;
  return ticks.map((tick) => {
    if (tick === null) return "";
    if (!isOne) return formatReadable(tick, unit);
    const value = tick / size.divisor;
    const text = formatFixedPoint(value, value < 1 ? 1 : 0);
    return size.unit === "" ? text : `${text} ${size.unit}`;
  });
}

/** Returns as many digits as the distance between ticks needs: ticks 2.5 apart are not 50, 53, 55. */
function digitsOf(step: number): number {
  for (let digits = 0; digits < 6; digits += 1) {
    const scaled = step * 10 ** digits;
    if (Math.abs(scaled - Math.round(scaled)) < 1e-6 * Math.max(1, scaled)) return digits;
  }
  return 6;
}

/** Bytes have ticks at powers of two, because a tick at 953.7 MiB is not readable. */
export function incrementsFor(unit: Unit): number[] | undefined {
  if (unit !== "bytes") return undefined;
  return Array.from({ length: 52 }, (_, at) => 2 ** at);
}

/** Returns the lower and upper edge: configured values are used as they are, the others are derived from the data with some margin. */
export function valueRange(
  found: readonly [number | null, number | null],
  given: { readonly min?: number | undefined; readonly max?: number | undefined },
  limits: readonly number[],
): [number, number] {
  const low = Math.min(found[0] ?? 0, ...limits);
  const high = Math.max(found[1] ?? given.max ?? 1, ...limits);
  // If all values are zero, ticks of thousandths would suggest small values.
  if (low === 0 && high === 0) return [given.min ?? 0, given.max ?? 1];
  const room = high > low ? (high - low) * 0.06 : Math.max(1e-3, Math.abs(high) * 0.1);
  const min = given.min ?? (low >= 0 && low < high * 0.6 ? 0 : low - room);
  const max = given.max !== undefined && high <= given.max ? given.max : high + room;
  return [min, max > min ? max : min + 1];
}

/** The powers of ten around all values of a logarithmic axis. */
export function logRange(least: number | null, most: number | null): [number, number] {
  const low = 10 ** Math.floor(Math.log10(least ?? 1));
  const high = 10 ** Math.ceil(Math.log10(most ?? 10));
  return [low, high > low ? high : low * 10];
}
