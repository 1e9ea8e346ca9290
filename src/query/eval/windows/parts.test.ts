import { expect, test } from "vitest";
import { labelSet } from "../../../model/labels.ts";
import { createEngine } from "../../engine.ts";
import { MemoryStore } from "../../memory-store.ts";

const store = new MemoryStore();
for (let second = 0; second < 6_000; second++)
  store.append(labelSet({ __name__: "load" }), second * 1_000, (second * 7_919) % 1_009);
const engine = createEngine();

async function valueAt(query: string, timeMs: number): Promise<number | undefined> {
  const { data } = await engine.instant(query, timeMs, store);
  return data.type === "vector" ? data.samples[0]?.value : undefined;
}

test.for([
  "quantile_over_time(0.9, load[20m])",
  "max_over_time(load[20m])",
  "rate(load[20m])",
  "predict_linear(load[20m], 60)",
  "quantile_over_time(scalar(load) / 1009, load[20m])",
])("%s over windows of many samples gives what single queries give", async (query) => {
  const { data } = await engine.range(query, 2_000_000, 5_900_000, 1_000, store);
  if (data.type !== "matrix") throw new Error("BUG: a range query gives a matrix");
  const [series] = data.series;
  expect(series?.times).toHaveLength(3_901);
  for (const step of [0, 83, 84, 2_000, 3_900])
    expect(series?.values[step]).toBeCloseTo(
      (await valueAt(query, 2_000_000 + step * 1_000)) ?? Number.NaN,
      9,
    );
});

test("one series with thousands of large windows lets the event loop turn", async () => {
  let turns = 0;
  let isOver = false;
  const turn = (): void => {
    turns++;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  await engine.range("quantile_over_time(0.9, load[80m])", 2_000_000, 5_900_000, 400, store);
  isOver = true;
  expect(turns).toBeGreaterThan(2);
});
