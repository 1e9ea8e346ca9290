import { expect, test } from "vitest";
import { catalogue } from "../../../../src/model/catalogue/index.ts";
import { matchersOf } from "../../../../src/view/first-load.ts";
import { charts, isChartReported, queriesOf } from "./charts.ts";
import { queryAll, readings } from "./readings.ts";

const known = new Map(catalogue.map((entry) => [entry.name, entry]));
const HOUR = 3_600_000;

test("every chart and every reading is of metrics the catalogue has, in their unit", () => {
  for (const { metric, unit } of readings) expect(known.get(metric)?.unit, metric).toBe(unit);
  for (const { unit, lines } of charts)
    for (const { metric, rate } of lines)
      expect(known.get(metric)?.unit, metric).toBe(rate === true ? "bytes" : unit);
});

test("a chart with only a reported limit is not shown", () => {
  const [power] = charts.filter(({ key }) => key === "power");
  if (power === undefined) throw new Error("no power chart");
  expect(isChartReported(power, new Set(["gpu_power_limit_watts"]))).toBe(false);
  const reported = new Set(["gpu_power_limit_watts", "gpu_power_watts"]);
  expect(isChartReported(power, reported)).toBe(true);
  expect(
    queriesOf(power, matchersOf({ uuid: 'a"b', host: "x.y" }), reported, HOUR).map(
      ({ query }) => query,
    ),
  ).toEqual([
    String.raw`gpu_power_watts{uuid="a\"b",host=~"x\\.y|"}`,
    String.raw`gpu_power_limit_watts{uuid="a\"b",host=~"x\\.y|"}`,
  ]);
  expect(queriesOf(power, 'uuid="a"', reported, 24 * HOUR)[0]?.query).toBe(
    `avg_over_time(gpu_power_watts{uuid="a"}[$step])`,
  );
});

test("all reported metrics are queried at once, and an empty list still gives a query", () => {
  expect(queryAll('uuid="u"', new Set(["gpu_power_watts"]), ["min", "60s"])).toBe(
    `label_replace(min(min_over_time(gpu_power_watts{uuid="u"}[60s])),"reading","power","","")`,
  );
  expect(queryAll("u", new Set())).toBe("vector(0) > 0");
});
