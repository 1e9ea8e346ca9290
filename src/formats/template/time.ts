/** Go's time.Time and time.Duration as template values: printed to the nanosecond if necessary, in UTC by default. */
import { TemplateError } from "./lex.ts";
import type { GoObject, TemplateValue } from "./value.ts";

const months = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];
const days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/** The parts of Go's reference time, longest first. */
const layoutParts =
  /January|Jan|Monday|Mon|MST|2006|-0700|-07:00|-07|Z0700|Z07:00|01|02|03|04|05|06|002|[.,]0+(?!\d)|[.,]9+(?!\d)|15|PM|pm|_2|1|2|3|4|5/g;

interface Wall {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly weekday: number;
  readonly zone: string;
  readonly offsetMinutes: number;
}

function wallIn(timeMs: number, zone: string): Wall {
  const offsetMinutes = zone === "UTC" ? 0 : offsetOf(timeMs, zone);
  const date = new Date(timeMs + offsetMinutes * 60_000);
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    second: date.getUTCSeconds(),
    weekday: date.getUTCDay(),
    zone: zone === "UTC" ? "UTC" : zoneName(timeMs, zone),
    offsetMinutes,
  };
}

function zonePart(timeMs: number, zone: string, style: "longOffset" | "short"): string {
  try {
    return (
      new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: style })
        .formatToParts(timeMs)
        .find(({ type }) => type === "timeZoneName")?.value ?? "UTC"
    );
  } catch {
    throw new TemplateError(`unknown time zone ${zone}`);
  }
}

function offsetOf(timeMs: number, zone: string): number {
  const match = /GMT([+-])(\d{2}):(\d{2})/.exec(zonePart(timeMs, zone, "longOffset"));
  if (match === null) return 0;
  const minutes = Number(match[2]) * 60 + Number(match[3]);
  return match[1] === "-" ? -minutes : minutes;
}

const zoneName = (timeMs: number, zone: string): string => zonePart(timeMs, zone, "short");

const two = (value: number): string => String(value).padStart(2, "0");

function offsetText(minutes: number, colon: string, zulu: boolean): string {
  if (zulu && minutes === 0) return "Z";
  const size = Math.abs(minutes);
  return `${minutes < 0 ? "-" : "+"}${two(Math.floor(size / 60))}${colon}${two(size % 60)}`;
}

export function formatTime(timeMs: number, layout: string, zone = "UTC"): string {
  const wall = wallIn(Math.floor(timeMs), zone);
  const nanos = Math.round((((timeMs % 1_000) + 1_000) % 1_000) * 1e6);
  const hour12 = wall.hour % 12 === 0 ? 12 : wall.hour % 12;
  const table: Readonly<Record<string, string>> = {
    January: months[wall.month - 1] ?? "",
    Jan: (months[wall.month - 1] ?? "").slice(0, 3),
    Monday: days[wall.weekday] ?? "",
    Mon: (days[wall.weekday] ?? "").slice(0, 3),
    MST: wall.zone,
    "2006": String(wall.year).padStart(4, "0"),
    "06": two(wall.year % 100),
    "01": two(wall.month),
    "1": String(wall.month),
    "02": two(wall.day),
    _2: String(wall.day).padStart(2, " "),
    "2": String(wall.day),
    "15": two(wall.hour),
    "03": two(hour12),
    "3": String(hour12),
    "04": two(wall.minute),
    "4": String(wall.minute),
    "05": two(wall.second),
    "5": String(wall.second),
    PM: wall.hour < 12 ? "AM" : "PM",
    pm: wall.hour < 12 ? "am" : "pm",
    "-0700": offsetText(wall.offsetMinutes, "", false),
    "-07:00": offsetText(wall.offsetMinutes, ":", false),
    "-07": offsetText(wall.offsetMinutes, "", false).slice(0, 3),
    Z0700: offsetText(wall.offsetMinutes, "", true),
    "Z07:00": offsetText(wall.offsetMinutes, ":", true),
  };
  return layout.replace(layoutParts, (part) => {
    if (/^[.,]0/.test(part)) return part[0] + fraction(nanos, part.length - 1);
    if (/^[.,]9/.test(part)) {
      const digits = fraction(nanos, part.length - 1).replace(/0+$/, "");
      return digits === "" ? "" : part[0] + digits;
    }
    return table[part] ?? part;
  });
}

const fraction = (nanos: number, digits: number): string =>
  String(nanos).padStart(9, "0").slice(0, digits).padEnd(digits, "0");

/** A time as a template value. */
export function goTime(timeMs: number, zone = "UTC"): GoObject {
  return {
    goType: "time.Time",
    print: () => formatTime(timeMs, "2006-01-02 15:04:05.999999999 -0700 MST", zone),
    fields: {},
    methods: {
      Format: ([layout]) => formatTime(timeMs, textOf(layout), zone),
      UTC: () => goTime(timeMs),
      Local: () => goTime(timeMs),
      Unix: () => BigInt(Math.floor(timeMs / 1_000)),
      UnixMilli: () => BigInt(Math.floor(timeMs)),
      Year: () => BigInt(wallIn(timeMs, zone).year),
      Hour: () => BigInt(wallIn(timeMs, zone).hour),
      Minute: () => BigInt(wallIn(timeMs, zone).minute),
      Second: () => BigInt(wallIn(timeMs, zone).second),
      Day: () => BigInt(wallIn(timeMs, zone).day),
      Weekday: () => days[wallIn(timeMs, zone).weekday] ?? "",
      IsZero: () => timeMs === zeroTimeMs,
      Sub: ([other]) => goDuration(timeMs - millisOf(other ?? null)),
      Add: ([duration]) => goTime(timeMs + durationMsOf(duration ?? null), zone),
      Before: ([other]) => timeMs < millisOf(other ?? null),
      After: ([other]) => timeMs > millisOf(other ?? null),
    },
  };
}

/** Go's zero time, the first of January of the year 1. */
export const zeroTimeMs = -62_135_596_800_000;

const textOf = (value: TemplateValue | undefined): string => {
  if (typeof value === "string") return value;
  throw new TemplateError("a time layout must be text");
};

/** The milliseconds of a time value. */
export function millisOf(value: TemplateValue): number {
  const method = (value as GoObject | null)?.methods?.["UnixMilli"];
  if (method === undefined) throw new TemplateError("expected a time");
  return Number(method([]));
}

export function durationMsOf(value: TemplateValue): number {
  if (typeof value === "bigint") return Number(value) / 1e6;
  const method = (value as GoObject | null)?.methods?.["Milliseconds"];
  if (method === undefined) throw new TemplateError("expected a duration");
  return Number(method([]));
}

export function goDuration(durationMs: number): GoObject {
  return {
    goType: "time.Duration",
    print: () => durationText(durationMs),
    truth: () => durationMs !== 0,
    methods: {
      Seconds: () => durationMs / 1_000,
      Minutes: () => durationMs / 60_000,
      Hours: () => durationMs / 3_600_000,
      Milliseconds: () => BigInt(Math.trunc(durationMs)),
      String: () => durationText(durationMs),
    },
  };
}

/** `1h2m3.5s`, `250ms`, `0s`. */
function durationText(durationMs: number): string {
  if (durationMs === 0) return "0s";
  const sign = durationMs < 0 ? "-" : "";
  const size = Math.abs(durationMs);
  if (size < 1e-3) return `${sign}${Math.round(size * 1e6)}ns`;
  if (size < 1) return `${sign}${trimmed(size * 1_000, 3)}µs`;
  if (size < 1_000) return `${sign}${trimmed(size, 6)}ms`;
  const seconds = size / 1_000;
  const hours = Math.floor(seconds / 3_600);
  const minutes = Math.floor(seconds / 60) % 60;
  const rest = `${trimmed(seconds - hours * 3_600 - minutes * 60, 9)}s`;
  if (hours > 0) return `${sign}${hours}h${minutes}m${rest}`;
  return minutes > 0 ? `${sign}${minutes}m${rest}` : `${sign}${rest}`;
}

const trimmed = (value: number, digits: number): string => String(Number(value.toFixed(digits)));
