import { expect, test } from "vitest";
import { prepare } from "../eval/prepare.ts";
import { parse } from "./parse.ts";
import { maxRecentQueries, RecentQueries } from "./recent.ts";

const times = { startMs: 0, endMs: 600_000, stepMs: 60_000 };

test.each([
  'sum by (a) (rate(x{b=~"c|d"}[5m] offset 1m)) / on (a) group_left (e) y',
  "max_over_time((avg by (host) (x @ end()))[30m:1m])",
  "x offset (range() + 5m)",
  '-(1 + vector(2)) or label_replace(x, "a", "$1", "b", "(.*)")',
])("%s: a remembered query is what parsing it returns, however its tree was changed", (query) => {
  const recent = new RecentQueries();
  const parsed = parse(query);
  for (let use = 0; use < 3; use++) {
    const tree = recent.parse(query);
    expect(tree).toEqual(parsed);
    prepare(tree, { ...times, startMs: use });
  }
});

test("an invalid query fails every time", () => {
  const recent = new RecentQueries();
  for (let use = 0; use < 2; use++) expect(() => recent.parse("sum(")).toThrow(/parse error/);
});

test("a limited number of queries is remembered, and long ones are not", () => {
  const recent = new RecentQueries();
  recent.parse(`x + ${"1 + ".repeat(500)}1`);
  expect(recent.size).toBe(0);
  for (let query = 0; query < maxRecentQueries + 10; query++)
    expect(recent.parse(`x${query} + ${query}`)).toEqual(parse(`x${query} + ${query}`));
  expect(recent.size).toBe(maxRecentQueries);
});
