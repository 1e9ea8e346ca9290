import { expect, test } from "vitest";
import { sampleGpu } from "../../../test/fixtures/web/sample-gpu.ts";
import { severity, temperatureLevel, wordsOf } from "./gpu-status.ts";

const NOW = 10_000_000;
const words = (...args: Parameters<typeof sampleGpu>) =>
  wordsOf(sampleGpu(...args), NOW).map(({ text, level }) => `${text}:${level}`);

test("a GPU at work has nothing to say", () => {
  expect(words({ readings: { utilization: 1, eccUncorrected: 0 } })).toEqual([]);
});

test("the power cap is a note, heat is a warning", () => {
  expect(words({ row: { throttle: ["power_cap", "thermal"] } })).toEqual([
    "thermal:warn",
    "power cap:note",
  ]);
});

test("a reason nobody knows is still shown", () => {
  expect(words({ row: { throttle: ["moon_phase"] } })).toEqual(["moon phase:note"]);
});

test("a lost GPU says that alone", () => {
  expect(words({ readings: { up: 0 }, row: { throttle: ["thermal"] } })).toEqual(["lost:bad"]);
});

test("errors ECC could not mend are a warning", () => {
  expect(words({ readings: { eccUncorrected: 3 } })).toEqual(["ECC 3:warn"]);
});

test("an XID is shown for an hour", () => {
  const seen = (lastMs: number) => words({ row: { xids: [{ xid: "79", count: 1, lastMs }] } });
  expect(seen(NOW - 60_000)).toEqual(["XID 79:bad"]);
  expect(seen(NOW - 3_600_001)).toEqual([]);
});

test.each([
  [20, undefined],
  [5, "warn"],
  [0, "bad"],
  [-2, "bad"],
  ["unsupported", undefined],
] as const)("a margin of %s is %s", (temperatureMargin, level) => {
  expect(temperatureLevel(sampleGpu({ readings: { temperatureMargin } }))).toBe(level);
});

test("severity takes heat into account", () => {
  expect(severity(sampleGpu({ readings: { temperatureMargin: 3 } }), NOW)).toBe(2);
  expect(severity(sampleGpu(), NOW)).toBe(0);
});
