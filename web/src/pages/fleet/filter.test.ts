import { expect, test } from "vitest";
import { filterGpus } from "./filter.ts";
import { sampleGpu } from "../../../../test/fixtures/web/sample-gpu.ts";

const fleet = [
  sampleGpu({
    index: 1,
    readings: { utilization: 0.9, power: 600, temperatureEdge: 80, clockSm: 1.98e9 },
    row: { job: "train-llm", user: "ada" },
  }),
  sampleGpu({
    index: 10,
    model: "AMD Instinct MI300X",
    readings: { utilization: 0, power: 90 },
    row: { throttle: ["power_cap"] },
  }),
  sampleGpu({ index: 11, readings: { up: 0, utilization: "failed" } }),
];

test.each([
  ["", [1, 10, 11]],
  ["   ", [1, 10, 11]],
  ["h200", [1, 11]],
  ["H200 train", [1]],
  ["h200 mi300", []],
  ["#1", [1]],
  ["ada", [1]],
  ["lost", [11]],
  ["idle", [10]],
  ["power cap", [10]],
  ["gpu-00000001-", [1]],
  ["util>50", [1]],
  ["util>=0", [1, 10]],
  ["util<5", [10]],
  ["util>50%", [1]],
  ["power<=90", [10]],
  ["temp=80", [1]],
  ["clock>1900", [1]],
  ["speed>3", []],
])("'%s' leaves %j: what is absent is neither more nor less", (text, indexes) => {
  expect(filterGpus(fleet, text).map(({ device }) => device.index)).toEqual(indexes);
});
