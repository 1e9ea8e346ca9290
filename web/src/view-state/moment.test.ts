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
  ["2026-11-03 12:00:05", at(3, 12, 0, 5)],
  ["2026-11-03", at(3, 0)],
  ["yesterday 25:00", undefined],
  ["someday", undefined],
  ["", undefined],
  ["12", undefined],
])("%j is the right moment", (text, ms) => {
  expect(parseMoment(text, now)).toBe(ms);
});
