/**
 * Converts OTLP names of metrics and labels as Prometheus does by default: invalid characters become underscores, and the unit and
 * `total` or `ratio` are appended (the strategy UnderscoreEscapingWithSuffixes).
 */
import { OtlpError } from "./model.ts";

/** UCUM units in Prometheus's spelling; other units stay unchanged. */
const units = new Map([
  ["d", "days"],
  ["h", "hours"],
  ["min", "minutes"],
  ["s", "seconds"],
  ["ms", "milliseconds"],
  ["us", "microseconds"],
  ["ns", "nanoseconds"],
  ["By", "bytes"],
  ["KiBy", "kibibytes"],
  ["MiBy", "mebibytes"],
  ["GiBy", "gibibytes"],
  ["TiBy", "tibibytes"],
  ["KBy", "kilobytes"],
  ["MBy", "megabytes"],
  ["GBy", "gigabytes"],
  ["TBy", "terabytes"],
  ["m", "meters"],
  ["V", "volts"],
  ["A", "amperes"],
  ["J", "joules"],
  ["W", "watts"],
  ["g", "grams"],
  ["Cel", "celsius"],
  ["Hz", "hertz"],
  ["1", ""],
  ["%", "percent"],
]);
const perUnits = new Map([
  ["s", "second"],
  ["m", "minute"],
  ["h", "hour"],
  ["d", "day"],
  ["w", "week"],
  ["mo", "month"],
  ["y", "year"],
]);

export type NamedKind = "gauge" | "counter" | "other";

/** @throws OtlpError if no valid character remains. */
export function metricName(name: string, unit: string, kind: NamedKind): string {
  let parts = name.split(/[^a-zA-Z0-9:]+/).filter((part) => part !== "");
  for (const part of unitParts(unit)) if (part !== "" && !parts.includes(part)) parts.push(part);
  const ending = kind === "counter" ? "total" : kind === "gauge" && unit === "1" ? "ratio" : "";
  if (ending !== "") parts = [...parts.filter((part) => part !== ending), ending];
  const joined = parts.join("_");
  if (joined === "")
    throw new OtlpError(`nothing is left of the metric name "${name.slice(0, 100)}"`);
  return /^\d/.test(joined) ? `_${joined}` : joined;
}

/** The unit and its denominator; empty for an annotation in braces. */
function unitParts(unit: string): readonly [main: string, per: string] {
  const slash = unit.indexOf("/");
  const [main, per] = slash < 0 ? [unit, ""] : [unit.slice(0, slash), unit.slice(slash + 1)];
  const spelled = (text: string, known: ReadonlyMap<string, string>): string => {
    const trimmed = text.trim();
    return /[{}]/.test(trimmed) ? "" : clean(known.get(trimmed) ?? trimmed);
  };
  const perText = spelled(per, perUnits).replace(/_$/, "");
  const mainText = spelled(main, units);
  return perText === "" ? [mainText, ""] : [mainText.replace(/_$/, ""), `per_${perText}`];
}

const clean = (text: string): string => text.replace(/[^a-zA-Z0-9:]+/g, "_").replace(/^_/, "");

/** @throws OtlpError if no valid character remains. */
export function labelName(name: string): string {
  const plain = name.replace(/[^a-zA-Z0-9_]/g, "_");
  if (plain === "" || (plain !== name && /^_+$/.test(plain)))
    throw new OtlpError(`nothing is left of the attribute name "${name.slice(0, 100)}"`);
  if (/^\d/.test(plain)) return `key_${plain}`;
  return /^_(?!_)/.test(plain) ? `key${plain}` : plain;
}

/** Formats a number without an exponent, as Prometheus does for bucket bounds and quantiles. */
export function plainDecimal(value: number): string {
  if (value === Infinity) return "+Inf";
  if (value === -Infinity) return "-Inf";
  const match = /^(-?)(\d+)(?:\.(\d+))?e([-+]\d+)$/.exec(String(value));
  if (match === null) return String(value);
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = match;
  const digits = whole + fraction;
  const point = whole.length + Number(exponent);
  return point <= 0
    ? `${sign}0.${"0".repeat(-point)}${digits}`
    : `${sign}${digits.padEnd(point, "0")}`;
}
