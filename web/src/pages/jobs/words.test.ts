import { expect, test } from "vitest";

import { formatEnergy, formatGpuTime, formatKey, usefulShare } from "./words.ts";

test.each([
  [0, "0 s"],
  [89, "89 s"],
  [600, "10 min"],
  [7_200, "2.0 h"],
  [864_000, "10.0 d"],
])("%d GPU-seconds are %s", (seconds, text) => {
  expect(formatGpuTime(seconds)).toBe(text);
});

test("energy is in watt-hours until it is a tenth of a kilowatt-hour", () => {
  expect([formatEnergy(3_600), formatEnergy(3_600_000)]).toEqual(["1.0 Wh", "1.00 kWh"]);
});

test("the useful share leaves out time without a reading, and is absent where there is no other", () => {
  expect(usefulShare({ gpuSeconds: 100, unknownSeconds: 50, usefulSeconds: 25 })).toBe(0.5);
  expect(usefulShare({ gpuSeconds: 9, unknownSeconds: 9, usefulSeconds: 0 })).toBeUndefined();
});

test.each([
  ["workload:gpu-node-2/train-1", "train-1", "gpu-node-2"],
  ["pod:lab/train-1", "train-1", "lab"],
  ["slurm:4711", "sweep", "4711"],
  ["workload:train-1", "train-1", ""],
])("the key %s of the job %s is shown as %j", (key, name, shown) => {
  expect(formatKey({ key, name })).toBe(shown);
});
