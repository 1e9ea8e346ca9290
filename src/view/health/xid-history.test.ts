import { expect, test } from "vitest";
import { burstGapMs, judgeXids, type XidEvent, XidHistory } from "./xid-history.ts";
import { findXid, xidEntries } from "./xids.ts";

const now = Date.UTC(2026, 0, 5, 12);
const minute = 60_000;
const at = (minutesAgo: number, xid: number, application?: string): XidEvent => ({
  timeMs: now - minutesAgo * minute,
  xid,
  ...(application === undefined ? {} : { application }),
});
const verdicts = (...events: readonly XidEvent[]): string[] =>
  judgeXids(events, now).map(({ reason, state, action }) => `${reason} ${state} ${action}`);

test("every number of the catalogue has one entry, a meaning and an action that fits its state", () => {
  const numbers = xidEntries.flatMap(({ xids }) => xids);
  expect(new Set(numbers).size).toBe(numbers.length);
  expect(Math.max(...numbers)).toBeLessThanOrEqual(172);
  for (const { name, meaning, state, action } of xidEntries) {
    expect(meaning).toMatch(/^[A-Z].*\.$/);
    expect(name).not.toBe("");
    if (state === "failing") expect(["reset_gpu", "reboot", "drain"]).toContain(action);
    if (state === "healthy") expect(["none", "restart_app"]).toContain(action);
  }
});

test("the numbers that the rules listed by hand are in the catalogue as faults of the GPU", () => {
  const listed = [46, 48, 54, 61, 62, 64, 74, 79, 92, 95, 109, 110, 119, 120, 136, 140, 142, 143];
  for (const xid of [...listed, 145, 150, 151, 155, 156, 158])
    expect(findXid(xid)?.state, `Xid ${xid}`).toMatch(/degraded|failing/);
});

test("lines closer than three minutes are one burst", () => {
  const gap = burstGapMs / minute;
  const [reason] = judgeXids([at(30, 79), at(30 - gap, 79), at(10, 79)], now);
  expect(reason?.text).toContain("3 times in 2 bursts");
  expect(reason?.sinceMs).toBe(now - 30 * minute);
});

test.each([
  ["a fault of the GPU", [at(5, 48)], ["xid_48 failing reset_gpu"]],
  ["off the bus", [at(5, 79)], ["xid_79 failing reboot"]],
  ["an application's error is a note", [at(5, 31, "alice")], ["xid_31 healthy restart_app"]],
  [
    "the same error in the same application stays the application's",
    [at(50, 31, "alice"), at(5, 31, "alice")],
    ["xid_31 healthy restart_app"],
  ],
  [
    "13 that moves between applications is the GPU's",
    [at(600, 13, "alice"), at(5, 13, "bob")],
    ["xid_13 degraded reset_gpu"],
  ],
  [
    "43 stays the application's",
    [at(50, 43, "alice"), at(5, 43, "bob")],
    ["xid_43 healthy restart_app"],
  ],
  ["163 stands", [at(5, 163)], ["xid_163 degraded inspect"]],
  ["162 cancels 163", [at(50, 163), at(5, 162)], []],
  ["163 after 162 stands", [at(50, 163), at(20, 162), at(5, 163)], ["xid_163 degraded inspect"]],
  ["45 beside another says nothing", [at(6, 48), at(5, 45)], ["xid_48 failing reset_gpu"]],
  ["45 alone is a note", [at(5, 45)], ["xid_45 healthy restart_app"]],
  ["a number that nobody knows", [at(5, 999)], ["xid_999 degraded inspect"]],
  ["a note is over after an hour", [at(61, 43)], []],
  ["a fault is believed for a day", [at(23 * 60, 48)], ["xid_48 failing reset_gpu"]],
] as const)("%s", (_name, events, expected) => {
  expect(verdicts(...events)).toEqual(expected);
});

test("one event of two reporters counts once, and a reset ends what was before", () => {
  const history = new XidHistory();
  history.add(at(5, 31, "python3"));
  history.add({ timeMs: now - 5 * minute + 800, xid: 31 });
  expect(history.reasons(now)[0]?.text).toContain("once in python3");
  history.forgetBefore(now - minute);
  expect(history.reasons(now)).toEqual([]);
});

test("a GPU that writes without end is bounded", () => {
  const history = new XidHistory();
  for (let index = 0; index < 5_000; index++)
    history.add({ timeMs: now - 5_000_000 + index * 1_000, xid: 13 + (index % 2) * 18 });
  expect(history.reasons(now).map(({ reason }) => reason)).toEqual(["xid_13", "xid_31"]);
});
