import { expect, test } from "vitest";
import { SAMPLE_TIME_MS, sampleGpu } from "../../test/fixtures/web/sample-gpu.ts";
import { severity, statusBadges, temperatureLevel } from "./gpu-status.ts";
import { healthStates } from "./health/verdict.ts";

const NOW = SAMPLE_TIME_MS;
const badges = (...args: Parameters<typeof sampleGpu>) =>
  statusBadges(sampleGpu(...args)).map(({ text, level }) => `${text}:${level}`);

test("a busy GPU without problems has no badge", () => {
  expect(badges({ readings: { utilization: 1, eccUncorrected: 0 } })).toEqual([]);
});

test("the power cap is a note, heat is a warning", () => {
  expect(badges({ row: { throttle: ["power_cap", "thermal"] } })).toEqual([
    "thermal:warn",
    "power cap:note",
  ]);
});

test("a power cap reported far below the limit is not shown", () => {
  const capped = (power: number) =>
    badges({ readings: { power, powerLimit: 700 }, row: { throttle: ["power_cap"] } });
  expect(capped(174)).toEqual([]);
  expect(capped(695)).toEqual(["power cap:note"]);
});

test("a set clock is a warning where a busy GPU runs at less than half its highest clock", () => {
  const set = (clockSm: number, utilization: number) =>
    badges({
      readings: { clockSm, utilization },
      facts: { clockMaxSm: 1_980e6 },
      row: { throttle: ["clock_setting"] },
    });
  expect(set(690e6, 1)).toEqual(["clock limit:warn"]);
  expect(set(1_500e6, 1)).toEqual(["clock limit:note"]);
  expect(set(690e6, 0.1)).toEqual(["clock limit:note"]);
});

test("an unknown throttle reason is still shown", () => {
  expect(badges({ row: { throttle: ["moon_phase"] } })).toEqual(["moon phase:note"]);
});

test("a lost GPU has no other badge", () => {
  expect(badges({ readings: { up: 0 }, row: { throttle: ["thermal"] } })).toEqual(["lost:bad"]);
});

test("uncorrectable ECC errors are critical until the agent's verdict is no worse than degraded", () => {
  const errors = (healthState: number | "unsupported") =>
    badges({ readings: { eccUncorrected: 3, healthState } });
  expect(errors("unsupported")).toEqual(["ECC 3:bad"]);
  expect(errors(healthStates.indexOf("failing"))).toEqual(["ECC 3:bad"]);
  expect(errors(healthStates.indexOf("degraded"))).toEqual(["ECC 3:warn"]);
});

test("an XID is shown for an hour", () => {
  const seen = (lastMs: number) => badges({ row: { xids: [{ xid: "79", count: 1, lastMs }] } });
  expect(seen(NOW - 60_000)).toEqual(["XID 79:bad"]);
  expect(seen(NOW - 3_600_001)).toEqual([]);
});

test("an XID of an application is a note, an unknown one a warning", () => {
  const seen = (xid: string) => badges({ row: { xids: [{ xid, count: 1, lastMs: NOW }] } });
  expect([...seen("31"), ...seen("999")]).toEqual(["XID 31:note", "XID 999:warn"]);
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
  expect(severity(sampleGpu({ readings: { temperatureMargin: 3 } }))).toBe(2);
  expect(severity(sampleGpu())).toBe(0);
});
