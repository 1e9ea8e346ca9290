/** Formats numbers for people, identical to Prometheus's output. */
import { TemplateError } from "../lex.ts";
import { sprintf } from "../printf.ts";
import { isObject, type TemplateValue, typeName } from "../value.ts";
import { durationMsOf, formatTime, millisOf } from "../time.ts";

const large = ["k", "M", "G", "T", "P", "E", "Z", "Y"];
const small = ["m", "u", "n", "p", "f", "a", "z", "y"];
const binary = ["ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi"];

const four = (value: number): string => sprintf("%.4g", [value]);
const isSpecial = (value: number): boolean => !Number.isFinite(value);

/** The argument of the humanize functions: a number, or its text. */
export function floatOf(value: TemplateValue | undefined): number {
  if (typeof value === "number") return value;
  if (typeof value === "bigint") return Number(value);
  if (typeof value === "string") {
    const text = value.trim().replace(/^([+-]?)inf(inity)?$/i, "$1Infinity");
    const number = text === "" ? Number.NaN : Number(text);
    if (Number.isNaN(number) && !/^nan$/i.test(text))
      throw new TemplateError(
        `strconv.ParseFloat: parsing ${JSON.stringify(value)}: invalid syntax`,
      );
    return number;
  }
  if (value !== undefined && isObject(value)) {
    if (value.goType === "time.Duration") return durationMsOf(value) / 1_000;
    if (value.goType === "time.Time") return millisOf(value) / 1_000;
  }
  throw new TemplateError(`can't convert ${typeName(value ?? null)} to float`);
}

export function humanize(value: number): string {
  if (value === 0 || isSpecial(value)) return four(value);
  let rest = value;
  let prefix = "";
  if (Math.abs(value) >= 1) {
    for (const next of large) {
      if (Math.abs(rest) < 1_000) break;
      prefix = next;
      rest /= 1_000;
    }
    return `${four(rest)}${prefix}`;
  }
  for (const next of small) {
    if (Math.abs(rest) >= 1) break;
    prefix = next;
    rest *= 1_000;
  }
  return `${four(rest)}${prefix}`;
}

export function humanize1024(value: number): string {
  if (Math.abs(value) <= 1 || isSpecial(value)) return four(value);
  let rest = value;
  let prefix = "";
  for (const next of binary) {
    if (Math.abs(rest) < 1_024) break;
    prefix = next;
    rest /= 1_024;
  }
  return `${four(rest)}${prefix}`;
}

export function humanizeDuration(seconds: number): string {
  if (isSpecial(seconds)) return four(seconds);
  if (seconds === 0) return `${four(seconds)}s`;
  if (Math.abs(seconds) < 1) {
    let rest = seconds;
    let prefix = "";
    for (const next of small) {
      if (Math.abs(rest) >= 1) break;
      prefix = next;
      rest *= 1_000;
    }
    return `${four(rest)}${prefix}s`;
  }
  const sign = seconds < 0 ? "-" : "";
  const size = Math.abs(seconds);
  const whole = Math.trunc(size);
  const [day, hour, minute, second] = [
    Math.floor(whole / 86_400),
    Math.floor(whole / 3_600) % 24,
    Math.floor(whole / 60) % 60,
    whole % 60,
  ];
  if (day !== 0) return `${sign}${day}d ${hour}h ${minute}m ${second}s`;
  if (hour !== 0) return `${sign}${hour}h ${minute}m ${second}s`;
  if (minute !== 0) return `${sign}${minute}m ${second}s`;
  return `${sign}${four(size)}s`;
}

export const humanizePercentage = (value: number): string => `${four(value * 100)}%`;

export function humanizeTimestamp(seconds: number): string {
  if (isSpecial(seconds)) return four(seconds);
  if (Math.abs(seconds) > 8.6e12)
    throw new TemplateError(`${seconds} cannot be represented as a time`);
  return formatTime(Math.round(seconds * 1_000), "2006-01-02 15:04:05.999999999 -0700 MST");
}
