import { expect, test } from "vitest";
import { catalogue } from "../../../../src/model/catalogue/index.ts";
import { matchersOf } from "../../../../src/view/first-load.ts";
import { charts, isChartReported, queriesOf } from "./charts.ts";
import { readings } from "./readings.ts";
import { SeriesStatistics, statisticQueries } from "./series-statistics.ts";

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

test("statistics of many metrics are asked in queries that fit into an address", () => {
  expect(statisticQueries("min", ["gpu_power_watts"], 'uuid="u"', 60_000)).toEqual([
    `label_replace(min_over_time(gpu_power_watts{uuid="u"}[60s]),"metric","gpu_power_watts","","")`,
  ]);
  const metrics = [...new Set(readings.map(({ metric }) => metric))];
  const who = matchersOf({ uuid: `GPU-${"0".repeat(36)}`, host: "a-host.with.a.long.name" });
  const queries = statisticQueries("avg", metrics, who, 7 * 24 * HOUR);
  expect(queries.length).toBeGreaterThan(1);
  for (const query of queries) expect(encodeURIComponent(query).length).toBeLessThan(8_000);
});

test("a series is found by its metric and labels, and several are combined", () => {
  const fan = (name: string, value: number) => ({
    labels: { metric: "gpu_fan_speed_ratio", uuid: "u", fan: name },
    timeMs: 0,
    value,
    text: "",
  });
  const found = new SeriesStatistics(
    new Map([
      ["min", [fan("0", 0.2), fan("1", 0.4)]],
      ["avg", [fan("0", 0.4), fan("1", 0.8)]],
      ["max", [fan("0", 0.9), fan("1", 1)]],
    ]),
    { isPast: false },
  );
  const drawn = { __name__: "gpu_fan_speed_ratio", uuid: "u", fan: "1" };
  expect(found.find("avg", "gpu_fan_speed_ratio", drawn)).toBe(0.8);
  const [spec] = readings.filter(({ key }) => key === "fan");
  if (spec === undefined) throw new Error("no fan");
  expect(
    (["min", "avg", "max", "newest"] as const).map((name) => found.combine(name, spec)),
  ).toEqual([0.2, 0.6000000000000001, 1, undefined]);
});
