import { expect, test } from "vitest";
import type { ChartQuery } from "./model.ts";
import { combineQueries } from "./promql.ts";

const combined = (...queries: readonly (readonly [query: string, label: ChartQuery["label"]])[]) =>
  combineQueries(queries.map(([query, label]) => ({ query, label })));

test("one query stays as it is", () => {
  expect(combined(["sum(gpu_power_watts)", "power"])).toBe("sum(gpu_power_watts)");
});

test("selectors of the same series become one selector", () => {
  expect(combined(['a{uuid="1"}', "x"], ['b{uuid="1"}', "y"], ['a{uuid="1"}', "z"])).toBe(
    '{__name__=~"a|b",uuid="1"}',
  );
  expect(combined(["a{}", "x"], ["b{}", "y"])).toBe('{__name__=~"a|b"}');
});

test("other queries are distinguished by a label, so that `or` keeps both", () => {
  expect(combined(['avg_over_time(a{u="1"}[15s])', "cost in $"], ["b", () => "named"])).toBe(
    String.raw`label_replace(avg_over_time(a{u="1"}[15s]),"line","cost in $$","","") or label_replace(b,"line","2","","")`,
  );
});
