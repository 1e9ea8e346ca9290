/** Times at which a route is muted or active: Alertmanager's time intervals. */
import * as v from "valibot";
import { GpulseError } from "../../base/error.ts";
import { scalar } from "../../config/yaml/fields.ts";

const weekdays = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const months = [
  "january",
  "february",
  "march",
  "april",
  "may",
  "june",
  "july",
  "august",
  "september",
  "october",
  "november",
  "december",
];

const ranges = v.optional(v.array(scalar("a range such as 1:5")));
const time = scalar("a time such as 09:30");

export const timeIntervalSchema = v.strictObject({
  times: v.optional(v.array(v.strictObject({ start_time: time, end_time: time }))),
  weekdays: ranges,
  days_of_month: ranges,
  months: ranges,
  years: ranges,
  location: v.optional(scalar("a time zone such as Europe/Berlin")),
});

type Range = readonly [from: number, to: number];
/** Undefined: always. Empty: never, which is also Alertmanager's meaning of an empty list. */
type Ranges = readonly Range[] | undefined;

export interface TimeInterval {
  /** Minutes of the day; the end is exclusive. */
  readonly times: Ranges;
  readonly weekdays: Ranges;
  /** Negative days count from the end of the month. */
  readonly days: Ranges;
  readonly months: Ranges;
  readonly years: Ranges;
  readonly location: string;
}

const refuse = (text: string, takes: string): never => {
  throw new GpulseError("ALERT_CONFIG", `"${text}" in a time interval must be ${takes}.`);
};

function minutesOf(text: string): number {
  const match = /^(?:([01]\d|2[0-3]):([0-5]\d)|(24):(00))$/.exec(text);
  if (match === null) return refuse(text, "a time such as 09:30");
  return Number(match[1] ?? match[3]) * 60 + Number(match[2] ?? match[4]);
}

type Member = (part: string, whole: string) => number;

const named =
  (names: readonly string[], base: number, otherwise: Member): Member =>
  (part, whole) => {
    const at = names.indexOf(part);
    return at >= 0 ? at + base : otherwise(part, whole);
  };
const whole: Member = (part, text) =>
  /^[-+]?\d{1,9}$/.test(part) ? Number(part) : refuse(text, "a whole number, or two as in 1:5");
const weekday = named(weekdays, 0, (_part, text) => refuse(text, "a day such as monday:friday"));
const month = named(months, 1, whole);

/** One value, or two separated by a colon. */
function rangeOf(given: string, member: Member): Range {
  const text = given.toLowerCase();
  const [from = "", to, more] = text.split(":");
  if (more !== undefined) return refuse(given, "one value, or two with a colon between them");
  return [member(from, given), member(to ?? from, given)];
}

function upwards(given: string, member: Member): Range {
  const range = rangeOf(given, member);
  return range[0] <= range[1] ? range : refuse(given, "a range that ends after it begins");
}

/** A month has at least 28 days: a range that ends before it begins even then never matches. */
function daysOf(given: string): Range {
  const range = rangeOf(given, whole);
  const [from, to] = range;
  if ([from, to].some((day) => day === 0 || Math.abs(day) > 31))
    return refuse(given, "days from 1 to 31, or from -31 to -1 from the month's end");
  if (from < 0 && to > 0) return refuse(given, "a range whose end counts from the month's end too");
  const least = (day: number): number => (day < 0 ? 28 + day : day);
  return least(from) <= least(to) ? range : refuse(given, "a range that ends after it begins");
}

export function timeInterval(raw: v.InferOutput<typeof timeIntervalSchema>): TimeInterval {
  const location = raw.location ?? "";
  try {
    wallClock(0, location);
  } catch {
    refuse(location, "a time zone such as Europe/Berlin");
  }
  return {
    times: raw.times?.map(({ start_time, end_time }) => {
      const range = [minutesOf(start_time), minutesOf(end_time)] as const;
      return range[0] < range[1] ? range : refuse(`${start_time}–${end_time}`, "a time of one day");
    }),
    weekdays: raw.weekdays?.map((given) => upwards(given, weekday)),
    days: raw.days_of_month?.map(daysOf),
    months: raw.months?.map((given) => upwards(given, month)),
    years: raw.years?.map((given) => upwards(given, whole)),
    location,
  };
}

export function isWithin(interval: TimeInterval, timeMs: number): boolean {
  const wall = wallClock(timeMs, interval.location);
  const daysInMonth = new Date(Date.UTC(wall.year, wall.month, 0)).getUTCDate();
  const real = (day: number): number => (day < 0 ? daysInMonth + day + 1 : day);
  const any = (list: Ranges, holds: (range: Range) => boolean): boolean =>
    list === undefined || list.some(holds);
  const has =
    (value: number) =>
    ([from, to]: Range): boolean =>
      value >= from && value <= to;
  return (
    any(interval.times, ([from, to]) => wall.minutes >= from && wall.minutes < to) &&
    any(interval.weekdays, has(wall.weekday)) &&
    any(interval.days, ([from, to]) => wall.day >= real(from) && wall.day <= real(to)) &&
    any(interval.months, has(wall.month)) &&
    any(interval.years, has(wall.year))
  );
}

/** Creating a formatter costs a hundred times as much as using it. */
const formats = new Map<string, Intl.DateTimeFormat>();

function formatFor(location: string): Intl.DateTimeFormat {
  const known = formats.get(location);
  if (known !== undefined) return known;
  const made = new Intl.DateTimeFormat("en-US", {
    timeZone: location === "Local" ? undefined : location === "" ? "UTC" : location,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    weekday: "long",
  });
  formats.set(location, made);
  return made;
}

function wallClock(timeMs: number, location: string) {
  const parts = formatFor(location).formatToParts(timeMs);
  const part = (type: string): string => parts.find((found) => found.type === type)?.value ?? "";
  return {
    year: Number(part("year")),
    month: Number(part("month")),
    day: Number(part("day")),
    minutes: Number(part("hour")) * 60 + Number(part("minute")),
    weekday: weekdays.indexOf(part("weekday").toLowerCase()),
  };
}
