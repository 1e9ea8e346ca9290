import { expect, test } from "vitest";
import { labelSet } from "../model/labels.ts";
import { createEngine } from "../query/engine.ts";
import { MemoryStore } from "../query/memory-store.ts";
import { hourMeanQuery, lastQuery, statisticNames, statisticQuery } from "./range-statistics.ts";

const HOUR_MS = 3_600_000;
const labels = labelSet({ __name__: "gpu_power_watts", uuid: "A" });

async function valueOf(store: MemoryStore, query: string): Promise<number | undefined> {
  const { data } = await createEngine().instant(query, HOUR_MS, store);
  return data.type === "vector" ? data.samples[0]?.value : undefined;
}

/** 100 W read every second for half an hour, then 500 W read every 15 s. */
function mixedIntervals(): MemoryStore {
  const store = new MemoryStore();
  for (let ms = 1_000; ms <= HOUR_MS / 2; ms += 1_000) store.append(labels, ms, 100);
  for (let ms = HOUR_MS / 2 + 15_000; ms <= HOUR_MS; ms += 15_000) store.append(labels, ms, 500);
  return store;
}

test("an average is weighted by time, however often samples were taken", async () => {
  const store = mixedIntervals();
  expect(
    await Promise.all(
      statisticNames.map((name) =>
        valueOf(store, statisticQuery(name, "gpu_power_watts", HOUR_MS)),
      ),
    ),
  ).toEqual([100, 300, 500]);
  // The plain mean of the samples differs.
  expect(await valueOf(store, hourMeanQuery("gpu_power_watts", "of samples"))).toBeCloseTo(125, 0);
});

test("the mean of an hour is weighted by time, and a gap in it has no weight", async () => {
  expect(await valueOf(mixedIntervals(), hourMeanQuery("gpu_power_watts", "by time"))).toBe(300);
  const store = new MemoryStore();
  for (let ms = HOUR_MS / 2; ms <= HOUR_MS; ms += 600_000) store.append(labels, ms, ms / HOUR_MS);
  expect(await valueOf(store, hourMeanQuery("gpu_power_watts", "by time"))).toBeCloseTo(0.75, 9);
});

test("a value holds until the next sample where slices are shorter than the interval", async () => {
  const store = new MemoryStore();
  for (let ms = 0; ms <= HOUR_MS; ms += 60_000)
    store.append(labels, ms, ms < HOUR_MS / 4 ? 0 : 400);
  const average = await valueOf(store, statisticQuery("avg", "gpu_power_watts", HOUR_MS));
  expect(average).toBeCloseTo(300, -1);
});

test("a gap counts for nothing, and the last sample of a range is found before it", async () => {
  const store = new MemoryStore();
  for (let ms = 1_000; ms <= HOUR_MS / 4; ms += 1_000) store.append(labels, ms, 200);
  store.append(labels, HOUR_MS / 4 + 1_000, Number.NaN, true);
  expect(await valueOf(store, statisticQuery("avg", "gpu_power_watts", HOUR_MS))).toBe(200);
  expect(await valueOf(store, lastQuery("gpu_power_watts", HOUR_MS))).toBe(200);
});
