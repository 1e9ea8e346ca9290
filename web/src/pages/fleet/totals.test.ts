import { expect, test } from "vitest";
import { sampleGpu } from "../../../../test/fixtures/web/sample-gpu.ts";
import { totalsOf } from "./totals.ts";

test("no GPU gives no sums, not zeros", () => {
  expect(totalsOf([])).toMatchObject({
    gpus: 0,
    utilization: undefined,
    power: undefined,
    memory: undefined,
    hottest: undefined,
  });
});

test("sums leave out GPUs that do not report, and carry the number of GPUs", () => {
  const totals = totalsOf([
    sampleGpu({ readings: { utilization: 0.5, power: 100, powerLimit: 400 } }),
    sampleGpu({ readings: { utilization: 1, power: 300, powerLimit: 400 } }),
    sampleGpu({ readings: { utilization: "failed", power: "failed", powerLimit: 400 } }),
  ]);
  expect(totals.utilization).toEqual({ mean: 0.75, count: 2 });
  expect(totals.power).toEqual({ watts: 400, count: 2 });
  expect(totals.powerOfLimit).toEqual({ sum: 400, of: 800, count: 2 });
});

test("states are counted", () => {
  const totals = totalsOf([
    sampleGpu({ readings: { utilization: 1 } }),
    sampleGpu({ readings: { utilization: 0 } }),
    sampleGpu({ readings: { up: 0 } }),
  ]);
  expect(totals.states).toMatchObject({ active: 1, idle: 1, lost: 1, silent: 0 });
});

test("the hottest is the one nearest to its own limit", () => {
  const totals = totalsOf([
    sampleGpu({ index: 0, readings: { temperatureEdge: 85 }, facts: { limitSlowdown: 110 } }),
    sampleGpu({ index: 1, readings: { temperatureEdge: 80 }, facts: { limitSlowdown: 83 } }),
    sampleGpu({ index: 2, readings: { temperatureEdge: 99 } }),
  ]);
  expect([totals.hottest?.gpu.device.index, totals.hottest?.margin]).toEqual([1, 3]);
});

test("where none reports a limit the hottest is the highest temperature", () => {
  const totals = totalsOf([
    sampleGpu({ index: 0, readings: { temperatureEdge: 60 } }),
    sampleGpu({ index: 1, readings: { temperatureEdge: 61 } }),
  ]);
  expect(totals.hottest?.gpu.device.index).toBe(1);
});
