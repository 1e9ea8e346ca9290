import { expect, test } from "vitest";
import type { InstantSample } from "../../query/client.ts";
import type { Labels } from "../../query/columns.ts";
import { type SeriesStatistic, SeriesStatistics } from "./series-statistics.ts";

const labels: Labels = { __name__: "gpu_power_watts", uuid: "a" };
const spec = {
  key: "power",
  label: "Power",
  family: "power",
  unit: "watts",
  metric: "gpu_power_watts",
} as const;
const sample = (value: number): InstantSample => ({
  labels,
  value,
  timeMs: 0,
  text: String(value),
});
const statistics = (newest: number, isPast: boolean) =>
  new SeriesStatistics(
    new Map<SeriesStatistic, InstantSample[]>([
      ["min", [sample(100)]],
      ["max", [sample(600)]],
      ["avg", [sample(300)]],
      ["newest", [sample(newest)]],
    ]),
    { isPast },
  );
const figures = (found: SeriesStatistics) =>
  (["min", "max", "avg"] as const).map((name) => [
    found.combine(name, spec),
    found.find(name, "gpu_power_watts", labels),
  ]);

test("the present is never above the maximum or below the minimum", () => {
  expect(figures(statistics(650, false))).toEqual([
    [100, 100],
    [650, 650],
    [300, 300],
  ]);
  expect(figures(statistics(90, false))).toEqual([
    [90, 90],
    [600, 600],
    [300, 300],
  ]);
});

test("of a range that is over, the store's figures stand", () => {
  expect(figures(statistics(650, true))).toEqual([
    [100, 100],
    [600, 600],
    [300, 300],
  ]);
});
