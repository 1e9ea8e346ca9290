import { expect, test } from "vitest";
import { silentLog } from "../../base/log.ts";
import { createEngine } from "../../query/engine.ts";
import { ownQueries } from "./own-series.ts";
import { practiceQueries, practiceStore } from "./practice-store.ts";
import { startWarmUp } from "./warm-up.ts";

test.each(practiceQueries)(
  "the practice query $query at a step of $stepMs has a result: one without would warm up nothing",
  async ({ query, startMs, endMs, stepMs }) => {
    const engine = createEngine();
    const { data } =
      stepMs === 0
        ? await engine.instant(query, endMs, practiceStore())
        : await engine.range(query, startMs, endMs, stepMs, practiceStore());
    expect(
      data.type === "vector" ? data.samples : data.type === "matrix" && data.series,
    ).not.toEqual([]);
  },
);

const asked = (
  metrics: readonly { readonly name: string; readonly series: number }[],
  maxTimeMs?: number,
): string[] =>
  ownQueries({ metrics: () => metrics, newestMs: () => maxTimeMs }).map(({ query }) => query);

test("own series: the largest gauge and counter are queried that are cheap, and names that need quotes are not", () => {
  const queries = asked(
    [
      { name: "power_watts", series: 64 },
      { name: "up", series: 3 },
      { name: "huge_ratio", series: 100_000 },
      { name: "energy_total", series: 64 },
      { name: "http.duration", series: 80 },
      { name: "ended_watts", series: 0 },
    ],
    1_000,
  ).join("\n");
  expect(queries).toContain("sum by (host, instance) (power_watts)");
  expect(queries).toContain("sum(rate(energy_total[5m]))");
  expect(queries).not.toMatch(/huge|http\.duration|ended|up/);
});

test("own series: a store without any, or with large ones only, gets a query that reads none", () => {
  expect(asked([])).toEqual(["1"]);
  expect(asked([{ name: "power_watts", series: 10_000 }], 1_000)).toEqual(["1"]);
});

test("own series: every query is valid", async () => {
  const engine = createEngine();
  const metrics = () => [
    { name: "power_watts", series: 32 },
    { name: "energy_joules_total", series: 32 },
  ];
  for (const one of ownQueries({ metrics, newestMs: () => 1_700_000_000_000 }))
    await expect(
      engine.answer(one, practiceStore(), {}, { limit: 0, stats: "none" }),
    ).resolves.toBeDefined();
});

test("the warm-up ends at once when the hub closes", async () => {
  const refuse = (): never => {
    throw new Error("BUG: queried after the hub was closed");
  };
  const store = { answer: refuse, metrics: refuse, newestMs: refuse };
  const warmUp = startWarmUp({ store, url: () => undefined, log: silentLog });
  await expect(warmUp.close()).resolves.toBeUndefined();
});
