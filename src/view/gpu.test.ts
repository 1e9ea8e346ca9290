import { expect, test } from "vitest";
import {
  memoryRatio,
  powerLimit,
  powerRatio,
  shortModel,
  temperature,
  temperatureMargin,
  temperatureRatio,
  uuidPrefix,
} from "./gpu.ts";
import { sampleGpu } from "../../test/fixtures/web/sample-gpu.ts";

test.each([
  [{ readings: { utilization: 0.05 } }, "active"],
  [{ readings: { utilization: 0.04 } }, "idle"],
  [{ readings: { utilization: "asleep" } }, "asleep"],
  [{ readings: { utilization: "unsupported" } }, "unknown"],
  [{ readings: { up: 0, utilization: "failed" } }, "lost"],
  [{ readings: { up: "stale", utilization: "stale" }, row: { ageMs: {} } }, "silent"],
] as const)("a GPU with %j is %s", (sample, state) => {
  expect(sampleGpu(sample).state).toBe(state);
});

test("memory is worked out where only the parts are reported", () => {
  expect(
    memoryRatio(sampleGpu({ readings: { memoryUsed: 25 }, facts: { memoryTotal: 100 } })),
  ).toBe(0.25);
});

test("memory without a total keeps its reason", () => {
  expect(memoryRatio(sampleGpu({ readings: { memoryUsed: 25, memoryUsedRatio: "denied" } }))).toBe(
    "denied",
  );
});

test("the limit in force counts, else the one it came with", () => {
  expect(
    powerLimit(sampleGpu({ readings: { powerLimit: 500 }, facts: { powerLimitDefault: 700 } })),
  ).toBe(500);
  expect(
    powerLimit(sampleGpu({ readings: { powerLimit: "stale" }, facts: { powerLimitDefault: 700 } })),
  ).toBe(700);
});

test("power without a limit has no share", () => {
  expect(powerRatio(sampleGpu({ readings: { power: 300 } }))).toBe("unsupported");
});

test("without an edge sensor the hotspot is the temperature", () => {
  expect(temperature(sampleGpu({ readings: { temperatureHotspot: 80 } }))).toBe(80);
});

test("closeness to the limit follows the sensor the limit is for", () => {
  const hot = sampleGpu({
    readings: { temperatureEdge: 70, temperatureMargin: 11 },
    facts: { limitSlowdown: 110 },
  });
  expect([temperatureMargin(hot), temperatureRatio(hot)]).toEqual([11, 0.9]);
});

test.each([
  [60, 20, 0.75],
  [80, 0, 1],
  [85, -3, 1],
])("a card at %i °C with a margin of %i and no limit is at %d of it", (edge, margin, ratio) => {
  const card = sampleGpu({ readings: { temperatureEdge: edge, temperatureMargin: margin } });
  expect(temperatureRatio(card)).toBe(ratio);
});

test("without a reported margin it is the limit less the temperature", () => {
  expect(
    temperatureMargin(
      sampleGpu({ readings: { temperatureEdge: 70 }, facts: { limitSlowdown: 90 } }),
    ),
  ).toBe(20);
});

test.each([
  ["NVIDIA H200", "H200"],
  ["AMD Instinct MI300X", "Instinct MI300X"],
  ["Intel(R) Arc A770", "Arc A770"],
  ["NVIDIA", "NVIDIA"],
  ["Tesla T4", "Tesla T4"],
])("%s is shown as %s", (model, short) => {
  expect(shortModel(sampleGpu({ model }).device)).toBe(short);
});

test.each([
  ["GPU-1a2b3c4d-0000-4000-8000-000000000000", "GPU-1a2b3c4d"],
  ["amd-0000:03:00.0", "amd-0000:03:00.0"],
])("the prefix of %s is %s", (uuid, prefix) => {
  expect(uuidPrefix({ ...sampleGpu().device, uuid })).toBe(prefix);
});
