import { expect, test } from "vitest";
import { pretty } from "./format.ts";
import { parse } from "./parse/parse.ts";

test("a query that fits a line stays on it", () => {
  expect(pretty(parse("sum  by(host)(rate(gpu_energy_joules_total[5m]))"))).toBe(
    "sum by (host) (rate(gpu_energy_joules_total[5m]))",
  );
});

test("a query longer than a line is split at calls, aggregations and operators", () => {
  const query =
    'sum by (host) (rate(gpu_energy_joules_total{cluster="production"}[5m])) / on (host) group_left (zone) ' +
    'topk(3, -max_over_time(host_power_limit_watts{cluster="production"}[1h:5m] offset 10m))';
  expect(pretty(parse(query)))
    .toBe(`  sum by (host) (rate(gpu_energy_joules_total{cluster="production"}[5m]))
/ on (host) group_left (zone)
  topk(3, -max_over_time(host_power_limit_watts{cluster="production"}[1h:5m] offset 10m))`);
});

test("what is nested in a split line is indented", () => {
  const long = "a_metric_with_a_rather_long_name_so_that_nothing_fits_on_one_line";
  expect(pretty(parse(`(topk(2, abs(${long} + ${long})))`))).toBe(`(
  topk(
    2,
    abs(
        ${long}
      +
        ${long}
    )
  )
)`);
});
