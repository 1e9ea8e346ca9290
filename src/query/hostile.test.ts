/** Malicious queries: each fails quickly with its own error and affects no other query. */
import { expect, test } from "vitest";
import { labelSet } from "../model/labels.ts";
import { createEngine } from "./engine.ts";
import { QueryMemory } from "./memory.ts";
import { MemoryStore } from "./memory-store.ts";
import { parse } from "./parse/parse.ts";

const startMs = 1_700_000_000_000;
const stepMs = 1_000;
const store = new MemoryStore();
for (let series = 0; series < 50; series++)
  for (let sample = 0; sample < 100; sample++)
    store.append(
      labelSet({ __name__: "x", a: `${"v".repeat(50)}${series}`, le: String(series) }),
      startMs + sample * 15_000,
      series * sample,
    );
const memory = new QueryMemory({
  totalBytes: 40e6,
  perClientBytes: 40e6,
  perQueryBytes: 20e6,
});
const engine = createEngine({ timeoutMs: 30_000, maxSamples: 1_000_000, memory });

const nested = (times: number, wrap: (query: string) => string, query: string): string => {
  let text = query;
  for (let count = 0; count < times; count++) text = wrap(text);
  return text;
};
const instant = (query: string) => engine.instant(query, startMs + 600_000, store);
const range = (query: string) =>
  engine.range(query, startMs, startMs + 10_000 * stepMs, stepMs, store);

test.each([
  [
    "a label doubled over and over",
    nested(40, (query) => `label_replace(${query}, "a", "$1$1", "a", "(.*)")`, "x"),
    "is not made",
  ],
  [
    "a label joined with itself over and over",
    nested(40, (query) => `label_join(${query}, "a", "", "a", "a")`, "x"),
    "is not made",
  ],
  [
    "a short label named very often",
    `label_replace(x, "b", "${"$1".repeat(50_000)}", "a", "(.*)")`,
    "is not made",
  ],
  [
    "a separator that is long, very often",
    `label_join(x, "b", "${"z".repeat(5_000)}", ${Array(500).fill('"a"').join(", ")})`,
    "is not made",
  ],
  [
    "long labels, many of them",
    nested(
      80,
      (query) => `label_join(${query}, "b", "", ${Array(200).fill('"a"').join(", ")})`,
      "x",
    ),
    "too much label text",
  ],
  ["ten years by the millisecond", "max_over_time(x[10y:1ms])", "too many samples"],
  ["the same of a constant", "max_over_time(vector(1)[10y:1ms])", "too many samples"],
  [
    "subqueries in subqueries",
    nested(30, (query) => `max_over_time(${query}[1h:1s])`, "x"),
    "subqueries",
  ],
  ["too deep a nesting", nested(2_000, (query) => `(${query})`, "x"), "nested deeper"],
  ["too long a text", "x".repeat(300_000), "longer than"],
  ["a regex that repeats its repetitions", 'x{a=~"((v{100}){100}){100}"}', "repeat count"],
  ["a regex that nests", `x{a=~"${"(".repeat(5_000)}v${")".repeat(5_000)}"}`, "nests too deeply"],
])("%s is refused", async (_name, query, why) => {
  await expect(instant(query)).rejects.toThrow(why);
});

test.each([
  ["each value a series of its own", 'count_values("v", x * time())', "the limit for one query"],
  ["one instant of everything for every step", "x @ 1700000600", undefined],
  ["a step for every millisecond", "sum_over_time(x[1d:1ms])", "too many samples"],
])("%s, over a range, ends well or is refused", async (_name, query, why) => {
  const answer = range(query);
  if (why === undefined) await expect(answer).resolves.toBeDefined();
  else await expect(answer).rejects.toThrow(why);
});

test.each([
  [
    "in arguments of arguments",
    nested(
      80,
      (query) => `label_join(${query}, "b", "", ${Array(400).fill('"a"').join(", ")})`,
      "x",
    ),
  ],
  ["in one row of arguments", `label_join(x, "b", "", ${Array(38_000).fill('"a"').join(", ")})`],
  ["in parentheses", nested(490, (query) => `(${query} + ${"x".repeat(200)})`, "x")],
  [
    "in one row of operators",
    Array(900)
      .fill(`x{a="${"b".repeat(200)}"}`)
      .join(" or "),
  ],
  ["in one regex", `x{a=~"${Array(40_000).fill("b12").join("|")}"}`],
])("a query of 200,000 characters %s is read as fast as it is long", (_name, query) => {
  expect(query.length).toBeGreaterThan(95_000);
  expect(parse(query).kind).toMatch(/call|paren|binary|vector/);
});

test("series that fill few steps are counted by the room they take", async () => {
  const sparse = new MemoryStore();
  for (let series = 0; series < 500; series++)
    sparse.append(labelSet({ __name__: "s", n: String(series) }), startMs + series, 1);
  const asked = engine.range("s", startMs, startMs + 10_000 * stepMs, stepMs, sparse, {
    lookbackMs: 1_000,
  });
  await expect(asked).rejects.toThrow("the limit for one query");
});

test.each([
  ["a product with a scalar", "x * 2"],
  ["a sum of two vectors", "x + x"],
  ["a negation", "-x"],
  ["a function of each value", "abs(x)"],
  ["a union", "x or -x"],
  ["an intersection", "x and x"],
  ["a join with many on one side", "x * on () group_left sum(x)"],
  ["replaced labels", 'label_replace(x, "b", "$1", "a", "(.*)")'],
  ["windows", "max_over_time(x[1m])"],
  ["a subquery", "max_over_time(x[1h:1s])"],
  ["a quantile", "quantile(0.5, x)"],
  ["sorted", "sort(x)"],
])("%s counts what it makes, and the answer too", async (_name, query) => {
  const measured = new QueryMemory({ totalBytes: 1e9, perClientBytes: 1e9, perQueryBytes: 1e9 });
  const reservation = measured.open("a");
  const steps = 1_000;
  await engine.range(query, startMs, startMs + (steps - 1) * stepMs, stepMs, store, {
    reservation,
  });
  // 50 series of 1,000 steps: a value and its presence for each.
  expect(measured.peakBytes).toBeGreaterThan(50 * steps * 9);
  reservation.close();
  expect(measured.bytes).toBe(0);
});

test("a query may ask for less time than is allowed, and not for more", async () => {
  let clockMs = 0;
  const slow = createEngine({ timeoutMs: 100, nowMs: () => (clockMs += 30) });
  const asked = slow.instant("x + x + x + x + x + x", startMs, store, { timeoutMs: 3_600_000 });
  await expect(asked).rejects.toMatchObject({ kind: "timeout" });
});

test("after all of that the engine still answers, with all of its room", async () => {
  for (let count = 0; count < 10; count++) {
    await expect(range('count_values("v", x * time())')).rejects.toThrow("the limit for one query");
    const answer = await instant("count(x)");
    expect(answer.data).toMatchObject({ samples: [{ value: 50 }] });
  }
  expect(memory.bytes).toBe(0);
});
