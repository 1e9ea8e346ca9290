/** Limits on creating series: in total, per target and per client. */
import { expect, test } from "vitest";
import { labelSet } from "../../model/labels.ts";
import { LabelIndex } from "./index/index.ts";
import { SeriesBudget } from "./series-budget.ts";

const limits = { maxSeries: 1_000, maxSeriesPerTarget: 500, maxSeriesPerClient: 700 };

function store() {
  const index = new LabelIndex();
  const budget = new SeriesBudget(limits);
  let next = 0;
  const create = (client: string | undefined, more: Record<string, string> = {}): boolean => {
    const labels = labelSet({ __name__: "m", n: String(next++), ...more });
    if (!budget.mayCreate(labels, index, client)) return false;
    budget.created(index.add(labels), labels, client);
    return true;
  };
  const createMany = (client: string | undefined, count: number): number => {
    let created = 0;
    while (created < count && create(client)) created++;
    return created;
  };
  return { index, budget, create, createMany };
}

test("one client gets its share, and another still finds room", () => {
  const { budget, create, createMany } = store();
  expect(createMany("token a", 2_000)).toBe(700);
  expect(budget.reason).toContain("token a has created 700 series, the limit for one client");
  expect(createMany("token b", 80)).toBe(80);
  expect(create("token a")).toBe(false);
});

test("the last fifth is for clients with few series", () => {
  const { budget, createMany } = store();
  createMany("token a", 500);
  expect(createMany("token b", 1_000)).toBe(298);
  expect(budget.reason).toContain("reserved for clients with fewer than 200");
  expect(createMany("token c", 150)).toBe(150);
  expect(createMany("token d", 20)).toBe(20);
});

test("all together never get more than the limit, the hub's own included", () => {
  const { createMany, index, budget } = store();
  createMany("token a", 700);
  createMany(undefined, 10_000);
  expect(index.table.count).toBeGreaterThan(980);
  expect(index.table.count).toBeLessThanOrEqual(1_000);
  expect(budget.reason).toContain("delete some with delete_series");
});

test("series with long labels count as several", () => {
  const { budget, create } = store();
  let created = 0;
  while (create("token a", { text: `${created++}`.padEnd(2_048, "x") }));
  expect(created).toBeLessThan(400);
  expect(budget.countOf("token a")).toBeGreaterThan(600);
});

test("what is dropped may be created again", () => {
  const { budget, index, createMany } = store();
  createMany("token a", 700);
  for (let ref = 0; ref < 300; ref++) {
    index.dropAll([ref]);
    index.table.release(ref);
    budget.dropped(ref);
  }
  expect(budget.countOf("token a")).toBe(400);
  expect(createMany("token a", 2_000)).toBe(300);
});

test("after a restart a series belongs to the client that goes on writing it", () => {
  const { budget } = store();
  budget.claim(7, "token a");
  budget.claim(7, "token b");
  budget.claim(8, undefined);
  expect([budget.countOf("token a"), budget.countOf("token b")]).toEqual([1, 0]);
});
