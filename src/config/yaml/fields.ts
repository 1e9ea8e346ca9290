/**
 * The value schemas of a Prometheus configuration, each parsed as Prometheus parses it. Text fields accept any scalar, since YAML
 * may type unquoted text as a number.
 */
import * as v from "valibot";
import { goUrlProblem, isWebAddress } from "./go-url.ts";

export function scalar(takes = "text") {
  return v.pipe(
    v.union([v.string(takes), v.number(takes), v.boolean(takes)], takes),
    v.transform(String),
  );
}

export const nonEmptyScalar = (takes: string) => v.pipe(scalar(takes), v.nonEmpty(takes));

const switches: Readonly<Record<string, boolean | undefined>> = {
  true: true,
  yes: true,
  on: true,
  y: true,
  false: false,
  no: false,
  off: false,
  n: false,
};

/** The boolean words of YAML 1.1, which Prometheus accepts. */
export function yamlBoolean() {
  const takes = "true or false";
  return v.pipe(
    scalar(takes),
    v.transform((given) => switches[given.toLowerCase()]),
    v.boolean(takes),
  );
}

/** Parses the integers of YAML 1.1: `1_000`, `0x10`, `0o17` or `017`, `0b1`, and a fraction, which is truncated. */
function integerOf(given: string): number {
  const text = given.replaceAll("_", "");
  const [, sign = "", digits = ""] = /^([-+]?)(.*)$/s.exec(text) ?? [];
  const plain = /^0[0-7]+$/.test(digits) ? `0o${digits.slice(1)}` : digits;
  const value = /^(0x[0-9a-f]+|0o[0-7]+|0b[01]+|\d+(\.\d*)?(e[-+]?\d+)?|\.\d+)$/i.test(plain)
    ? Math.trunc(Number(plain))
    : Number.NaN;
  return sign === "-" ? -value : value;
}

/** A whole number of at least `min`. */
export function count(min = 0) {
  const takes = `a whole number of at least ${min}`;
  return v.pipe(
    scalar(takes),
    v.transform(integerOf),
    v.safeInteger(takes),
    v.minValue(min, takes),
    v.metadata({ takes: "whole number" }),
  );
}

const durationParts =
  /^(?:(\d+)y)?(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?$/;
const partMs = [31_536_000_000, 604_800_000, 86_400_000, 3_600_000, 60_000, 1_000, 1];
/** Nanoseconds in 63 bits, in milliseconds. */
const longestMs = 9_223_372_036_854;

/** Whole numbers with units, large units first; only a zero needs no unit. The result is in milliseconds. */
export function duration(leastMs = 0) {
  const takes = `a duration such as 15s or 1m30s${leastMs > 0 ? ", above 0" : ""}`;
  return v.pipe(
    scalar(takes),
    v.transform((given) => {
      if (given === "0") return 0;
      const parts = given === "" ? null : durationParts.exec(given);
      if (parts === null) return Number.NaN;
      return partMs.reduce((sum, size, index) => sum + size * Number(parts[index + 1] ?? 0), 0);
    }),
    v.check((ms) => ms >= leastMs && ms <= longestMs, takes),
  );
}

const goUnitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

/** A Go duration such as `1.5h` or `1h30m`, or a Prometheus duration. The result is in milliseconds. */
export function goDuration() {
  const takes = "a duration such as 30s or 1h30m";
  const part = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g;
  const asGo = v.pipe(
    scalar(takes),
    v.regex(/^(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/, takes),
    v.transform((given) =>
      [...given.matchAll(part)].reduce(
        (sum, [, amount, unit = ""]) => sum + Number(amount) * (goUnitMs[unit] ?? 0),
        0,
      ),
    ),
  );
  return v.union([duration(), asGo], takes);
}

const sizeUnits = ["", "K", "M", "G", "T", "P", "E"];

/** `10MB`, `1.5GiB`: always powers of two. The result is in bytes; a negative size is 0, which means no limit. */
export function byteSize() {
  const takes = "a size such as 10MB";
  return v.pipe(
    scalar(takes),
    v.transform((given) => {
      if (given === "0") return 0;
      if (/^-(?:\d+(?:\.\d+)?[KMGTPE]?i?B)+$/i.test(given)) return 0;
      const parts = /^(?:\d+(?:\.\d+)?[KMGTPE]?i?B)+$/i.test(given)
        ? [...given.matchAll(/(\d+(?:\.\d+)?)([KMGTPE]?)i?B/gi)]
        : [];
      if (parts.length === 0) return Number.NaN;
      return Math.floor(
        parts.reduce(
          (sum, [, amount, unit = ""]) =>
            sum + Number(amount) * 1_024 ** sizeUnits.indexOf(unit.toUpperCase()),
          0,
        ),
      );
    }),
    v.check((bytes) => bytes >= 0, takes),
  );
}

export function webAddress() {
  const takes = "a URL that begins with http:// or https://";
  return v.pipe(scalar(takes), v.check(isWebAddress, takes));
}

/** Anything that Go parses as a URL. */
export function goUrl() {
  return v.pipe(
    scalar("a URL"),
    v.rawCheck(({ dataset, addIssue }) => {
      const problem = dataset.typed ? goUrlProblem(dataset.value) : undefined;
      if (problem !== undefined) addIssue({ message: `a URL (${problem})` });
    }),
  );
}

export const list = <Schema extends v.GenericSchema>(item: Schema) => v.optional(v.array(item), []);

/** A mapping with any keys; valibot's record would accept a list. */
export const mappingOf = <Schema extends v.GenericSchema>(value: Schema) =>
  v.optional(
    v.pipe(
      v.custom<Record<string, unknown>>(
        (given) => typeof given === "object" && given !== null && !Array.isArray(given),
        "a mapping",
      ),
      v.record(v.string(), value),
    ),
    {},
  );

export const labelMap = () => mappingOf(scalar());
