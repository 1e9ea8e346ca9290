/** Parses a time as users type it: an ISO time, a day with or without a time, a time of today, a time ago, or now. Pure. */
import { readDuration } from "./range.ts";

const weekdays = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const DAYS_A_WEEK = 7;

/** In local time. Undefined for any other text; a time without a day is the last such time before now. */
export function parseMoment(text: string, nowMs: number): number | undefined {
  const words = text.trim().toLowerCase().replaceAll(/\s+/g, " ");
  if (words === "now") return nowMs;
  const [, count, unit] =
    /^(?:now ?)?- ?(\d+) ?([a-z]+)$/.exec(words) ?? /^(\d+|an?) ?([a-z]+) ago$/.exec(words) ?? [];
  if (count !== undefined && unit !== undefined) {
    const letter = /^(?:[smhdw]|secs?|mins?|(?:second|minute|hour|day|week)s?)$/.test(unit)
      ? unit.charAt(0)
      : "";
    const ms = readDuration(`${count.startsWith("a") ? "1" : count}${letter}`);
    return ms === undefined || letter === "" ? undefined : nowMs - ms;
  }
  const [, name, clock] = /^(?:last )?([a-z]+)(?: (?:at )?(.+))?$/.exec(words) ?? [];
  if (name !== undefined) return momentOfDay(daysBack(name, nowMs), clock ?? "0:00", nowMs);
  const today = momentOfDay(0, words, nowMs);
  if (today !== undefined) return today > nowMs ? momentOfDay(1, words, nowMs) : today;
  // Unix seconds or milliseconds, as in logs.
  if (/^\d{10}(?:\d{3})?$/.test(words)) return Number(words.padEnd(13, "0"));
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)/.exec(words) ?? [];
  // Date.parse takes February 30 for March 2.
  if (year === undefined || Number(day) > new Date(Number(year), Number(month), 0).getDate())
    return undefined;
  // Date.parse would read a date alone as UTC.
  const ms = Date.parse(words.length === 10 ? `${words}T00:00` : text.trim().replace(" ", "T"));
  return Number.isNaN(ms) ? undefined : ms;
}

function daysBack(name: string, nowMs: number): number | undefined {
  if (name === "today") return 0;
  if (name === "yesterday") return 1;
  const day = weekdays.findIndex((one) => one === name || one.slice(0, 3) === name);
  if (day === -1) return undefined;
  const back = (new Date(nowMs).getDay() - day + DAYS_A_WEEK) % DAYS_A_WEEK;
  return back === 0 ? DAYS_A_WEEK : back;
}

/** `clock`: `15:00`, `15:00:30`, `3pm`, `3:30 pm`. */
function momentOfDay(back: number | undefined, clock: string, nowMs: number): number | undefined {
  const [, digits = "", minute = "0", second = "0", half] =
    /^(\d{1,2})(?::(\d\d)(?::(\d\d))?)? ?([ap]m)?$/.exec(clock) ?? [];
  if (back === undefined || digits === "" || (half === undefined && !clock.includes(":")))
    return undefined;
  const hour = half === undefined ? Number(digits) : hourOf(Number(digits), half);
  if (hour > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  const at = new Date(nowMs);
  at.setDate(at.getDate() - back);
  return at.setHours(hour, Number(minute), Number(second), 0);
}

/** 12 am is midnight. An hour that no such clock has is out of range. */
const hourOf = (hour: number, half: string): number =>
  hour < 1 || hour > 12 ? 99 : (hour % 12) + (half === "pm" ? 12 : 0);
