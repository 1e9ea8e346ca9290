import { expect, test } from "vitest";
import { sampleGpu } from "../../../../test/fixtures/web/sample-gpu.ts";
import { heatShade, describeCell } from "./heat-cell.ts";
import { heatScales } from "./heat.ts";

const scale = heatScales.utilization;

test.each([
  [{ readings: { utilization: 0.52 } }, { kind: "reported", share: 50 }, "52\u00a0% utilised"],
  [{ readings: { utilization: 0 } }, { kind: "reported", share: 0 }, "0\u00a0% utilised"],
  [
    { readings: { utilization: "denied" } },
    { kind: "absent", share: undefined },
    "n/a. gpulse may",
  ],
  [{ readings: { up: 0 } }, { kind: "lost", share: undefined }, "lost"],
] as const)("a GPU with %j is %j", (sample, shade, says) => {
  const gpu = sampleGpu(sample);
  expect(heatShade(gpu, scale, 10)).toEqual(shade);
  expect(describeCell(gpu, scale)).toContain(says);
});
