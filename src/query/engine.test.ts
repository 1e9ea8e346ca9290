import { expect, test } from "vitest";
import { labelSet } from "../model/labels.ts";
import type { Queryable } from "../model/select.ts";
import { createEngine } from "./engine.ts";
import { MemoryStore } from "./memory-store.ts";

function fleet(): MemoryStore {
  const store = new MemoryStore();
  for (let gpu = 0; gpu < 4; gpu++) {
    const labels = labelSet({ __name__: "gpu_power_watts", gpu: String(gpu) });
    for (let step = 0; step < 60; step++) store.append(labels, step * 15_000, 100 * gpu + step);
  }
  return store;
}

test("an instant query answers a vector, a scalar, a string or a matrix", async () => {
  const engine = createEngine();
  const store = fleet();
  expect((await engine.instant("gpu_power_watts{gpu='1'}", 60_000, store)).data).toEqual({
    type: "vector",
    samples: [
      { labels: labelSet({ __name__: "gpu_power_watts", gpu: "1" }), timeMs: 60_000, value: 104 },
    ],
  });
  expect((await engine.instant("1 + 1", 5000, store)).data).toEqual({
    type: "scalar",
    timeMs: 5000,
    value: 2,
  });
  expect((await engine.instant("'x'", 5000, store)).data).toEqual({
    type: "string",
    timeMs: 5000,
    value: "x",
  });
  const { data } = await engine.instant("gpu_power_watts{gpu='1'}[30s]", 60_000, store);
  expect(data).toMatchObject({
    type: "matrix",
    series: [{ times: new Float64Array([45_000, 60_000]) }],
  });
});

test("a range query answers a matrix in label order, and scalars as one nameless series", async () => {
  const engine = createEngine();
  const { data } = await engine.range("gpu_power_watts or vector(1)", 0, 60_000, 30_000, fleet());
  expect(data.type === "matrix" && data.series.map(({ labels }) => labels.length)).toEqual([
    0, 2, 2, 2, 2,
  ]);
  const scalar = await engine.range("time()", 0, 60_000, 30_000, fleet());
  expect(scalar.data).toMatchObject({
    series: [{ labels: [], values: new Float64Array([0, 30, 60]) }],
  });
});

test("range queries refuse what cannot be a range", async () => {
  const engine = createEngine({ maxPointsPerSeries: 100 });
  const store = fleet();
  await expect(engine.range("x", 0, 1000, 0, store)).rejects.toThrow(
    /zero or negative query resolution/,
  );
  await expect(engine.range("x", 1000, 0, 10, store)).rejects.toThrow(
    /end timestamp must not be before start/,
  );
  await expect(engine.range("x", 0, 1e6, 1, store)).rejects.toThrow(
    /exceeded maximum resolution of 100 points/,
  );
  await expect(engine.range("x[5m]", 0, 1000, 10, store)).rejects.toThrow(
    'invalid expression type "range vector" for range query, must be Scalar or instant Vector',
  );
  await expect(engine.range("'a'", 0, 1000, 10, store)).rejects.toMatchObject({ kind: "bad_data" });
});

test("a query that would hold too many samples is stopped", async () => {
  const engine = createEngine({ maxSamples: 100 });
  await expect(engine.range("gpu_power_watts", 0, 900_000, 15_000, fleet())).rejects.toThrow(
    "query processing would load too many samples into memory in query execution",
  );
  const { data } = await engine.range("sum(gpu_power_watts)", 0, 60_000, 15_000, fleet());
  expect(data.type).toBe("matrix");
});

test("a query that takes too long is stopped", async () => {
  let now = 0;
  const engine = createEngine({ timeoutMs: 10, nowMs: () => (now += 4) });
  await expect(engine.instant("sum(gpu_power_watts)", 0, fleet())).rejects.toMatchObject({
    kind: "timeout",
    message: "query timed out in expression evaluation",
  });
});

test("a cancelled query stops, also while the store is asked", async () => {
  const engine = createEngine();
  const before = AbortSignal.abort();
  await expect(engine.instant("up", 0, fleet(), { signal: before })).rejects.toMatchObject({
    kind: "canceled",
  });
  const controller = new AbortController();
  const store: Queryable = Object.assign(fleet(), {
    select: async () => {
      controller.abort();
      throw new Error("gave up");
    },
  });
  await expect(engine.instant("up", 0, store, { signal: controller.signal })).rejects.toMatchObject(
    {
      kind: "canceled",
    },
  );
});

test("an error of the store is reported as the query's", async () => {
  const store: Queryable = Object.assign(fleet(), {
    select: async () => {
      throw new Error("a block is missing");
    },
  });
  await expect(createEngine().instant("up", 0, store)).rejects.toMatchObject({
    kind: "execution",
    message: "expanding series: a block is missing",
  });
});

test("subqueries nest only so deep", async () => {
  const nested = `${"max_over_time(".repeat(4)}up${"[5m:1m])".repeat(4)}`;
  await expect(createEngine({ maxSubqueryDepth: 3 }).instant(nested, 0, fleet())).rejects.toThrow(
    /deeper than 3/,
  );
  await expect(createEngine().instant(nested, 0, fleet())).resolves.toMatchObject({
    data: { type: "vector" },
  });
});

test("samples are counted as Prometheus counts them", async () => {
  const engine = createEngine();
  const own = { perStepStats: true };
  const { stats } = await engine.range(
    "sum(rate(gpu_power_watts[1m]))",
    60_000,
    120_000,
    60_000,
    fleet(),
    own,
  );
  expect(stats.totalSamples).toBe(32);
  expect(stats.samplesPerStep).toEqual([
    [60_000, 16],
    [120_000, 16],
  ]);
  expect(stats.peakSamples).toBeGreaterThan(0);
});

test("annotations say where in the query they arose", async () => {
  const { infos, warnings } = await createEngine().instant(
    "rate(gpu_power_watts[1m])\n  + on () group_left quantile(2, gpu_power_watts)",
    60_000,
    fleet(),
  );
  expect(infos).toEqual([
    'PromQL info: metric might not be a counter, name does not end in _total/_sum/_count/_bucket: "gpu_power_watts" (1:6)',
  ]);
  expect(warnings).toEqual([
    "PromQL warning: quantile value should be between 0 and 1, got 2 (2:31)",
  ]);
});

test("names go at once when asked so, and equal series are then refused", async () => {
  const store = new MemoryStore();
  store.append(labelSet({ __name__: "a_total", x: "1" }), 0, 1);
  store.append(labelSet({ __name__: "b_total", x: "1" }), 0, 2);
  const query = "sum(abs({__name__=~'.+_total'}))";
  const late = await createEngine({ delayedNameRemoval: true }).instant(query, 0, store);
  expect(late.data).toMatchObject({ samples: [{ value: 3 }] });
  await expect(
    createEngine({ delayedNameRemoval: false }).instant(query, 0, store),
  ).rejects.toThrow("vector cannot contain metrics with the same labelset");
});

test("the look-back can be changed for the engine and for one query", async () => {
  const store = new MemoryStore();
  store.append(labelSet({ __name__: "up" }), 0, 1);
  const found = async (lookbackMs: number | undefined): Promise<number> => {
    const { data } = await createEngine({ lookbackMs: 60_000 }).instant("up", 90_000, store, {
      lookbackMs,
    });
    return data.type === "vector" ? data.samples.length : -1;
  };
  expect([await found(undefined), await found(120_000)]).toEqual([0, 1]);
});
