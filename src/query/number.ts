/** Parses and prints PromQL numbers and durations (Go's formats). Durations are in seconds. */
import {
  negativeBuckets,
  positiveBuckets,
  type Histogram,
  inclusiveBounds,
} from "../model/histogram/histogram.ts";

const durationPattern =
  /^(?:(\d+)y)?(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?$/;
const unitMs = [31_536_000_000, 604_800_000, 86_400_000, 3_600_000, 60_000, 1000, 1] as const;

/** Returns milliseconds, or undefined if the text is not a duration such as `1h30m`. */
export function readDurationMs(text: string): number | undefined {
  const match = durationPattern.exec(text);
  if (match === null || text === "") return undefined;
  let ms = 0;
  for (const [index, unit] of unitMs.entries()) ms += Number(match[index + 1] ?? 0) * unit;
  return ms;
}

/** `1h30m`: uses the largest units that divide the duration, years and weeks only without a remainder. */
export function printDurationMs(ms: number): string {
  if (ms === 0) return "0s";
  let rest = ms;
  let out = "";
  const units: readonly [string, number, boolean][] = [
    ["y", unitMs[0], true],
    ["w", unitMs[1], true],
    ["d", unitMs[2], false],
    ["h", unitMs[3], false],
    ["m", unitMs[4], false],
    ["s", unitMs[5], false],
    ["ms", 1, false],
  ];
  for (const [unit, size, exactOnly] of units) {
    if (exactOnly && rest % size !== 0) continue;
    const count = Math.floor(rest / size);
    if (count > 0) {
      out += `${count}${unit}`;
      rest -= count * size;
    }
  }
  return out;
}

/** Parses a number literal without its sign: decimal, hex, octal, binary, underscores, Inf and NaN. */
export function readNumber(text: string): number | undefined {
  const lower = text.toLowerCase();
  if (lower === "inf") return Infinity;
  if (lower === "nan") return Number.NaN;
  // Underscores are only allowed between digits.
  if (/__|_$|_[.e]|[.e]_/.test(lower)) return undefined;
  const digits = lower.replaceAll("_", "");
  if (/^0[xbo]/.test(digits)) return readPrefixed(digits);
  if (/^0[0-7]+$/.test(digits)) return Number.parseInt(digits, 8);
  if (!/^(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/.test(digits)) return undefined;
  return Number(digits);
}

function readPrefixed(digits: string): number | undefined {
  const value = Number(digits);
  if (!Number.isNaN(value)) return value;
  const hexFloat = /^0x([0-9a-f]*)\.?([0-9a-f]*)p([+-]?\d+)$/.exec(digits);
  if (hexFloat === null) return undefined;
  const [, whole = "", fraction = "", exponent = "0"] = hexFloat;
  return Number.parseInt(whole + fraction, 16) * 2 ** (Number(exponent) - 4 * fraction.length);
}

/** Go's strconv.FormatFloat(v, 'f', -1, 64): shortest digits, never an exponent. */
export function printFloat(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (value === Infinity) return "+Inf";
  if (value === -Infinity) return "-Inf";
  if (Object.is(value, -0)) return "-0";
  const text = String(value);
  const match = /^(-?)(\d+)(?:\.(\d+))?e([+-]\d+)$/.exec(text);
  if (match === null) return text;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = match;
  const shift = Number(exponent);
  const digits = whole + fraction;
  const point = whole.length + shift;
  if (point <= 0) return `${sign}0.${"0".repeat(-point)}${digits}`;
  return sign + digits.padEnd(point, "0");
}

/** Go's %g and %v of the shortest digits: exponent notation if the exponent is below -4 or at least 6. */
export function printShortest(value: number): string {
  if (!Number.isFinite(value)) return printFloat(value);
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const [mantissa = "", exponentText = "0"] = value.toExponential().split("e");
  const exponent = Number(exponentText);
  if (exponent >= -4 && exponent < 6) return printFloat(value);
  return `${mantissa}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/** Go's %.2g: two digits, ties to even. */
export function printTwoDigits(value: number): string {
  if (!Number.isFinite(value) || value === 0) return printShortest(value);
  const exponent = Math.floor(Math.log10(Math.abs(value)));
  const scaled = value / 10 ** (exponent - 1);
  const low = Math.floor(scaled);
  const isTie = scaled - low === 0.5;
  const rounded = isTie ? low + (low % 2) : Math.round(scaled);
  const [digits = "", shift = "0"] = rounded.toExponential().split("e");
  const power = exponent - 1 + Number(shift);
  if (power >= -4 && power < 2) return printFloat(Number(`${rounded}e${exponent - 1}`));
  return `${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}

/** `0.5`, `1.0`, `+Inf`: a label value in OpenMetrics notation. */
export function printOpenMetrics(value: number): string {
  const text = printShortest(value);
  return /^-?\d+$/.test(text) ? `${text}.0` : text;
}

/** `{count:3, sum:4.5, (1,2]:3}`: a native histogram as a label value; brackets show which bounds are inclusive. */
export function printHistogram(histogram: Histogram): string {
  const { zeroThreshold, zeroCount } = histogram;
  const zero = { lower: -zeroThreshold, upper: zeroThreshold, count: zeroCount };
  // Unlike in results, buckets that overlap the zero bucket have their own bounds.
  const buckets = [
    ...[...negativeBuckets(histogram)].reverse(),
    zero,
    ...positiveBuckets(histogram),
  ]
    .filter(({ count }) => count !== 0)
    .map((bucket) => {
      const { lower, upper } = inclusiveBounds(bucket, histogram);
      const bounds = `${printShortest(bucket.lower)},${printShortest(bucket.upper)}`;
      return `, ${lower ? "[" : "("}${bounds}${upper ? "]" : ")"}:${printShortest(bucket.count)}`;
    });
  const { count, sum } = histogram;
  return `{count:${printShortest(count)}, sum:${printShortest(sum)}${buckets.join("")}}`;
}
