import { expect, test } from "vitest";
import { parseMoment } from "./moment.ts";

/** A Wednesday, local time. */
const now = new Date(2026, 10, 18, 14, 30, 0).getTime();
const at = (day: number, hour: number, minute = 0, second = 0) =>
  new Date(2026, 10, day, hour, minute, second).getTime();

test.each<[string, number | undefined]>([
  ["now", now],
  ["yesterday 15:00", at(17, 15)],
  ["Yesterday at 9:05", at(17, 9, 5)],
  ["yesterday", at(17, 0)],
  ["today 8:00:30", at(18, 8, 0, 30)],
  ["14:00", at(18, 14)],
  ["23:00", at(17, 23)],
  ["monday 7:00", at(16, 7)],
  ["wed", at(11, 0)],
  ["2h ago", at(18, 12, 30)],
  ["-1d", at(17, 14, 30)],
  ["2 hours ago", at(18, 12, 30)],
  ["5 min ago", at(18, 14, 25)],
  ["an hour ago", at(18, 13, 30)],
  ["now-30m", at(18, 14)],
  ["now - 1d", at(17, 14, 30)],
  ["last monday 9:00", at(16, 9)],
  ["yesterday 3pm", at(17, 15)],
  ["3:30 pm", at(17, 15, 30)],
  ["12am", at(18, 0)],
  ["1763467800", 1_763_467_800_000],
  ["1763467800123", 1_763_467_800_123],
  ["2026-11-03 12:00:05", at(3, 12, 0, 5)],
  ["2026-11-03", at(3, 0)],
  ["yesterday 25:00", undefined],
  ["13pm", undefined],
  ["2 moons ago", undefined],
  ["2026-02-30", undefined],
  ["2026-13-01", undefined],
  ["someday", undefined],
  ["", undefined],
  ["12", undefined],
])("%j is the right moment", (text, ms) => {
  expect(parseMoment(text, now)).toBe(ms);
});
