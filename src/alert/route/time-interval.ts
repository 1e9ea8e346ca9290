/** Times at which a route is muted or active: Alertmanager's time intervals. */
import * as v from "valibot";
import { GpulseError } from "../../errors/error.ts";

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

const ranges = v.optional(v.array(v.union([v.string(), v.number()])));

export const timeIntervalSchema = v.strictObject({
  times: v.optional(
    v.array(v.strictObject({ start_time: v.string("HH:MM"), end_time: v.string("HH:MM") })),
  ),
  weekdays: ranges,
  days_of_month: ranges,
  months: ranges,
  years: ranges,
  location: v.optional(v.string("a time zone")),
});

type Range = readonly [from: number, to: number];

export interface TimeInterval {
  readonly times: readonly Range[];
  readonly weekdays: readonly Range[];
  /** Below zero: counted from the end of the month. */
  readonly days: readonly Range[];
  readonly months: readonly Range[];
  readonly years: readonly Range[];
  readonly location: string;
}

const refuse = (text: string, takes: string): never => {
  throw new GpulseError("ALERT_CONFIG", `"${text}" in a time interval must be ${takes}.`);
};

function minutesOf(text: string): number {
  const match = /^(\d{1,2}):(\d{2})$/.exec(text);
  const minutes = Number(match?.[1]) * 60 + Number(match?.[2]);
  if (match === null || minutes > 24 * 60) return refuse(text, "a time such as 09:30");
  return minutes;
}

function rangeOf(
  given: string | number,
  min: number,
  max: number,
  names: readonly string[] = [],
  base = 0,
): Range {
  const text = String(given).toLowerCase().trim();
  const one = (part: string): number => {
    const named = names.indexOf(part);
    const number = named >= 0 ? named + base : Number(part);
    if (part === "" || !Number.isInteger(number) || number < min || number > max)
      return refuse(text, `within ${min} and ${max}, or a name`);
    return number;
  };
  const [from = "", to] = text.split(":");
  const range = [one(from), one(to ?? from)] as const;
  // Days may end before they begin only where both count from the month's end.
  if (range[0] > range[1] && !(range[0] > 0 && range[1] < 0))
    return refuse(text, "a range that ends after it begins");
  return range;
}

export function timeInterval(raw: v.InferOutput<typeof timeIntervalSchema>): TimeInterval {
  const location = raw.location ?? "UTC";
  try {
    wallClock(0, zoneOf(location));
  } catch {
    refuse(location, "a time zone such as Europe/Berlin");
  }
  return {
    times: (raw.times ?? []).map(({ start_time, end_time }) => {
      const range = [minutesOf(start_time), minutesOf(end_time)] as const;
      return range[0] < range[1] ? range : refuse(`${start_time}–${end_time}`, "a time of one day");
    }),
    weekdays: (raw.weekdays ?? []).map((given) => rangeOf(given, 0, 6, weekdays)),
    days: (raw.days_of_month ?? []).map((given) => rangeOf(given, -31, 31)),
    months: (raw.months ?? []).map((given) => rangeOf(given, 1, 12, months, 1)),
    years: (raw.years ?? []).map((given) => rangeOf(given, 0, 9_999)),
    location,
  };
}

const zoneOf = (location: string): string | undefined =>
  location === "Local" ? undefined : location;

export function isWithin(interval: TimeInterval, timeMs: number): boolean {
  const wall = wallClock(timeMs, zoneOf(interval.location));
  const daysInMonth = new Date(Date.UTC(wall.year, wall.month, 0)).getUTCDate();
  const real = (day: number): number => (day < 0 ? daysInMonth + day + 1 : day);
  const any = (list: readonly Range[], holds: (range: Range) => boolean): boolean =>
    list.length === 0 || list.some(holds);
  const has =
    (value: number) =>
    ([from, to]: Range): boolean =>
      value >= from && value <= to;
  return (
    any(interval.times, ([from, to]) => wall.minutes >= from && wall.minutes < to) &&
    any(interval.weekdays, has(wall.weekday)) &&
    any(
      interval.days,
      ([from, to]) =>
        wall.day >= Math.max(1, real(from)) && wall.day <= Math.min(daysInMonth, real(to)),
    ) &&
    any(interval.months, has(wall.month)) &&
    any(interval.years, has(wall.year))
  );
}

function wallClock(timeMs: number, zone: string | undefined) {
  const parts = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    weekday: "long",
  }).formatToParts(timeMs);
  const part = (type: string): string => parts.find((found) => found.type === type)?.value ?? "";
  return {
    year: Number(part("year")),
    month: Number(part("month")),
    day: Number(part("day")),
    minutes: Number(part("hour")) * 60 + Number(part("minute")),
    weekday: weekdays.indexOf(part("weekday").toLowerCase()),
  };
}
