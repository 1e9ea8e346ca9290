import { expect, test } from "vitest";
import { heatScales } from "./heat.ts";
import { sampleGpu } from "../../../../test/fixtures/web/sample-gpu.ts";

const busy = sampleGpu({
  readings: {
    utilization: 0.93,
    memoryUsedRatio: 0.5,
    power: 350,
    powerLimit: 700,
    temperatureEdge: 65,
    temperatureMargin: 25,
  },
  facts: { limitSlowdown: 100 },
});

test.each([
  ["utilization", 0.93],
  ["memory", 0.5],
  ["power", 0.5],
] as const)("%s stands at %d", (key, ratio) => {
  expect(heatScales[key].ratio(busy)).toBe(ratio);
});

test("temperature starts where rooms are and ends at the card's limit", () => {
  const at = (temperatureMargin: number) =>
    heatScales.temperature.ratio(
      sampleGpu({ readings: { temperatureMargin }, facts: { limitSlowdown: 100 } }),
    );
  expect(at(0)).toBeCloseTo(1);
  expect(at(70)).toBeCloseTo(0);
});

test("an absent reading keeps its reason", () => {
  expect(heatScales.power.ratio(sampleGpu({ readings: { power: "asleep" } }))).toBe("asleep");
});

test("in a large fleet it says about", () => {
  expect(heatScales.utilization.say(busy, 1)).toBe("93\u00a0% utilised");
  expect(heatScales.utilization.say(busy, 5)).toBe("about 95\u00a0% utilised");
});
