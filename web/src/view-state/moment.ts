/** Parses a time as users type it: an ISO time, a day with or without a time, a time of today, a time ago, or now. Pure. */
import { readDuration } from "./range.ts";

const weekdays = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const DAYS_A_WEEK = 7;

/** In local time. Undefined for any other text; a time without a day is the last such time before now. */
export function parseMoment(text: string, nowMs: number): number | undefined {
  const words = text.trim().toLowerCase().replaceAll(/\s+/g, " ");
  if (words === "now") return nowMs;
  const [, ago] = /^(\d+ ?[smhdw]) ago$/.exec(words) ?? /^-(\d+[smhdw])$/.exec(words) ?? [];
  if (ago !== undefined) {
    const ms = readDuration(ago.replace(" ", ""));
    return ms === undefined ? undefined : nowMs - ms;
  }
  const [, name, clock] = /^([a-z]+)(?: (?:at )?(.+))?$/.exec(words) ?? [];
  if (name !== undefined) return momentOfDay(daysBack(name, nowMs), clock ?? "0:00", nowMs);
  if (/^\d{1,2}(?::\d\d){1,2}$/.test(words)) {
    const today = momentOfDay(0, words, nowMs);
    return today !== undefined && today > nowMs ? momentOfDay(1, words, nowMs) : today;
  }
  if (!/^\d{4}-\d\d-\d\d/.test(words)) return undefined;
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

function momentOfDay(back: number | undefined, clock: string, nowMs: number): number | undefined {
  const [, hour = "", minute = "", second = "0"] =
    /^(\d{1,2}):(\d\d)(?::(\d\d))?$/.exec(clock) ?? [];
  if (back === undefined || hour === "") return undefined;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  const at = new Date(nowMs);
  at.setDate(at.getDate() - back);
  return at.setHours(Number(hour), Number(minute), Number(second), 0);
}
