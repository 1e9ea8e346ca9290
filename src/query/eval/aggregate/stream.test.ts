import { expect, test } from "vitest";
import { labelSet } from "../../../model/labels.ts";
import { createEngine } from "../../engine.ts";
import { MemoryStore } from "../../memory-store.ts";

/** Series with gaps, ends, NaN and sums beyond the largest number. */
function fleet(): MemoryStore {
  const store = new MemoryStore();
  let state = 7;
  const random = (): number => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0);
  for (let gpu = 0; gpu < 12; gpu++) {
    const labels = { host: `node-${gpu % 3}`, gpu: String(gpu) };
    for (let i = 0; i < 60; i++) {
      const kind = random() % 23;
      const value = kind === 0 ? Number.NaN : kind === 1 ? 1.2e308 : random() / 977;
      if (kind > 2) store.append(labelSet({ __name__: "x", ...labels }), i * 10_000, value);
      if (kind === 2)
        store.append(labelSet({ __name__: "x", ...labels }), i * 10_000, 0, gpu % 2 === 0);
      store.append(labelSet({ __name__: "c_total", ...labels }), i * 10_000, i * gpu);
    }
  }
  return store;
}

const inner = [
  "x",
  "x offset 1m",
  "(x)",
  "rate(c_total[2m])",
  "avg_over_time(x[90s])",
  "last_over_time(x[1m])",
  "max_over_time(x[2m:20s])",
  "x @ 300",
];
const outer = ["sum", "avg", "min", "max", "count", "group"].flatMap((op) => [
  op,
  `${op} by (host)`,
  `${op} without (gpu)`,
]);

test.each(outer)("%s of series that come one by one is that of all of them at once", async (op) => {
  const [engine, store] = [createEngine(), fleet()];
  for (const expr of inner) {
    // label_replace changes nothing here, but returns all series at once.
    const all = `${op} (label_replace(${expr}, "none", "", "none", ""))`;
    const streamed = await engine.range(`${op} (${expr})`, 0, 600_000, 15_000, store);
    const gathered = await engine.range(all, 0, 600_000, 15_000, store);
    expect(streamed.data).toEqual(gathered.data);
    expect(streamed.stats.totalSamples).toBe(gathered.stats.totalSamples);
    const now = await engine.instant(`${op} (${expr})`, 400_000, store);
    expect(now.data).toEqual((await engine.instant(all, 400_000, store)).data);
  }
});

test("samples of each step are counted where that is asked for", async () => {
  const [engine, store] = [createEngine(), fleet()];
  const ask = async (query: string): Promise<unknown> =>
    (await engine.range(query, 0, 600_000, 60_000, store, { perStepStats: true })).stats
      .samplesPerStep;
  expect(await ask("sum(x)")).toEqual(await ask("sum(x + 0)"));
  expect(await ask("sum(rate(c_total[2m]))")).toEqual(await ask("sum(rate(c_total[2m]) + 0)"));
});
