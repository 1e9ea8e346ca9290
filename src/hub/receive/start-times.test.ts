// Tests start times over HTTP with a real store: stored besides the samples, used by queries, and otherwise hidden.
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  nowMs,
  openReceiverFixture,
  type ReceiverFixture,
  v2Headers,
  writeV2,
} from "../../../test/fixtures/hub/receive.ts";

let receivers: ReceiverFixture;
beforeAll(async () => {
  const ingest = {
    bucketLimit: 0,
    usesStarts: true,
    zeroAtStarts: false,
    storesStarts: true,
    toCustomBuckets: false,
  };
  receivers = await openReceiverFixture(ingest, true);
});
afterAll(() => receivers.close());

type Sent = readonly [secondsAgo: number, value: number, startSecondsAgo: number];

async function send(name: string, ...sent: readonly Sent[]): Promise<void> {
  const samples = sent.map(([ago, value, startAgo]) => ({
    timestamp: nowMs - ago * 1_000,
    value,
    start_timestamp: nowMs - startAgo * 1_000,
  }));
  const payload = writeV2([{ labels: { __name__: name }, samples: [], rest: { samples } }]);
  const request = { method: "POST", url: "/api/v1/write", payload, headers: v2Headers } as const;
  expect((await receivers.app.inject(request)).statusCode).toBe(204);
}
const valueOf = async (expression: string): Promise<number> =>
  Number((await receivers.query(expression)).map((line) => line.split(" ").at(-1))[0]);

test("one sample is enough for an increase where its start lies in the window", async () => {
  await send("one_total", [10, 6, 40]);
  expect(await valueOf("increase(one_total[1m])")).toBe(6);
  expect(await receivers.query("increase(one_total[35s])")).toEqual([]);
  expect(await valueOf("start_timestamp(one_total)")).toBe((nowMs - 40_000) / 1_000);
});

test("a later start is a reset, though the value is higher than before", async () => {
  await send("again_total", [45, 5, 200], [30, 6, 200], [15, 8, 20], [0, 9, 20]);
  expect(await valueOf("resets(again_total[1m])")).toBe(1);
  // 1 before the restart, 8 and 1 after it, extrapolated from 45 s to one minute.
  expect(await valueOf("increase(again_total[1m])")).toBeCloseTo((1 + 8 + 1) * (60 / 45), 9);
  expect(await valueOf("irate(again_total[1m])")).toBeCloseTo(1 / 15, 12);
});

test("a start before the last sample, and not that of the last sample, is warned of", async () => {
  await send("overlap_total", [30, 5, 200], [15, 6, 35], [0, 7, 20]);
  const { warnings } = await receivers.storage.history.instant("rate(overlap_total[1m])", nowMs);
  expect(warnings).toEqual([
    'PromQL warning: sample has start time that overlaps with previous sample timestamp for metric "overlap_total" (1:6)',
  ]);
});

test("a window with floats and a histogram has no result, and no warning of its start times", async () => {
  await send("mixed_total", [30, 5, 200], [15, 6, 35]);
  const buckets = { positive_spans: [{ length: 1 }], positive_deltas: [2] };
  const histogram = { count_int: 2, sum: 3, ...buckets, timestamp: nowMs };
  const rest = { histograms: [histogram] };
  const payload = writeV2([{ labels: { __name__: "mixed_total" }, samples: [], rest }]);
  const request = { method: "POST", url: "/api/v1/write", payload, headers: v2Headers } as const;
  expect((await receivers.app.inject(request)).statusCode).toBe(204);
  const { warnings } = await receivers.storage.history.instant("rate(mixed_total[1m])", nowMs);
  expect(warnings).toEqual([
    'PromQL warning: encountered a mix of histograms and floats for metric name "mixed_total" (1:6)',
  ]);
});

test("start times are no series that anyone sees, and are deleted with their samples", async () => {
  await send("hidden_total", [0, 1, 20]);
  const { store } = receivers.storage;
  const every = [[{ name: "__name__", op: "=", value: "hidden_total" }]] as const;
  expect(await receivers.query('{__name__="hidden_total"}')).toHaveLength(1);
  expect(await store.series(every, 0, nowMs)).toHaveLength(1);
  expect(await store.labelNames([], 0, nowMs)).toEqual(["__name__"]);
  await store.delete(every);
  expect(await receivers.query('{__name__="hidden_total",__start_timestamp__!=""}')).toEqual([]);
});
