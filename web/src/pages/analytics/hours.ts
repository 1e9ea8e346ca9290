/** Groups the hours of a range by day and by hour of the day, in the user's time zone. Pure; an hour without readings is NaN. */
import type { TimeGrid } from "../../query/columns.ts";

const HOUR_MS = 3_600_000;

/**
 * One point at the end of each whole local hour of the window, so that `avg_over_time(x[1h])` covers that hour. In time zones with
 * a half-hour offset the points are at half hours too.
 */
export function hourGrid(fromMs: number, toMs: number): TimeGrid {
  const first = new Date(fromMs).setMinutes(0, 0, 0) + HOUR_MS;
  const whole = first - HOUR_MS === fromMs ? fromMs + HOUR_MS : first;
  const last = new Date(toMs).setMinutes(0, 0, 0);
  // The current hour counts as far as it has passed.
  const endMs = last === toMs ? last : last + HOUR_MS;
  return { startMs: whole, endMs: Math.max(whole, endMs), stepMs: HOUR_MS };
}

export interface Hour {
  /** `2026-01-31`, local. */
  readonly day: string;
  /** 0 to 23, local: the hour that ends at the point. */
  readonly hour: number;
  /** 0 is Monday. */
  readonly weekday: number;
}

export function hoursOf({ startMs, endMs, stepMs }: TimeGrid): readonly Hour[] {
  const hours: Hour[] = [];
  for (let ms = startMs; ms <= endMs; ms += stepMs) {
    const at = new Date(ms - stepMs);
    const two = (value: number): string => String(value).padStart(2, "0");
    hours.push({
      day: `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`,
      hour: at.getHours(),
      weekday: (at.getDay() + 6) % 7,
    });
  }
  return hours;
}

/** The indexes of each day's hours, oldest day first. */
export function groupHoursByDay(
  hours: readonly Hour[],
): readonly { day: string; at: readonly number[] }[] {
  const found = new Map<string, number[]>();
  hours.forEach(({ day }, at) => {
    const own = found.get(day);
    if (own === undefined) found.set(day, [at]);
    else own.push(at);
  });
  return [...found].map(([day, at]) => ({ day, at }));
}

type HourAggregate = "mean" | "max" | "sum";

/** Undefined if none of these hours has a reading. */
export function aggregateHours(
  values: Float64Array | undefined,
  at: readonly number[],
  aggregate: HourAggregate,
): number | undefined {
  const known = at.flatMap((one) => {
    const value = values?.[one];
    return value === undefined || Number.isNaN(value) ? [] : [value];
  });
  if (known.length === 0) return undefined;
  if (aggregate === "max") return Math.max(...known);
  const sum = known.reduce((all, one) => all + one, 0);
  return aggregate === "sum" ? sum : sum / known.length;
}

export interface HourlyPattern {
  /** Days or weekdays. */
  readonly rows: readonly {
    readonly label: string;
    readonly cells: readonly (number | undefined)[];
  }[];
  readonly byWeekday: boolean;
  readonly min: number;
  readonly max: number;
}

/** More days than this are grouped by weekday. */
const MOST_DAYS = 15;
const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"] as const;

/** Means by hour of the day, with a row per day, or per weekday for many days. Undefined without a reading. */
export function patternOf(values: Float64Array, hours: readonly Hour[]): HourlyPattern | undefined {
  const single = groupHoursByDay(hours);
  const byWeekday = single.length > MOST_DAYS;
  const rowOf = (hour: Hour): string => (byWeekday ? (WEEKDAYS[hour.weekday] ?? "") : hour.day);
  const labels: readonly string[] = byWeekday ? WEEKDAYS : single.map(({ day }) => day);
  const places = new Map<string, number[]>();
  hours.forEach((hour, at) => {
    const key = `${rowOf(hour)} ${hour.hour}`;
    places.set(key, [...(places.get(key) ?? []), at]);
  });
  const rows = labels.map((label) => ({
    label,
    cells: Array.from({ length: 24 }, (_, hour) =>
      aggregateHours(values, places.get(`${label} ${hour}`) ?? [], "mean"),
    ),
  }));
  const all = rows.flatMap(({ cells }) => cells.filter((cell) => cell !== undefined));
  if (all.length === 0) return undefined;
  return { rows, byWeekday, min: Math.min(...all), max: Math.max(...all) };
}
