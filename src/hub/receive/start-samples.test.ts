// Tests start times over HTTP with a real store: zeros where Prometheus stores them, and nowhere else.
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  nowMs,
  openReceiverFixture,
  type ReceiverFixture,
  type SentSeries,
  v2Headers,
  writeV2,
} from "../../../test/fixtures/hub/receive.ts";

let receivers: ReceiverFixture;
beforeAll(async () => {
  receivers = await openReceiverFixture({
    bucketLimit: 0,
    usesStarts: true,
    zeroAtStarts: true,
    storesStarts: false,
    toCustomBuckets: false,
  });
});
afterAll(() => receivers.close());

async function send(series: SentSeries): Promise<number> {
  const url = "/api/v1/write";
  const payload = writeV2([series]);
  return (await receivers.app.inject({ method: "POST", url, payload, headers: v2Headers }))
    .statusCode;
}
const valueOf = async (expression: string): Promise<number> =>
  Number((await receivers.query(expression)).map((line) => line.split(" ").at(-1))[0]);

const counter = (name: string, startMs: number, timeMs: number, value: number): SentSeries => ({
  labels: { __name__: name },
  samples: [[timeMs, value]],
  rest: { created_timestamp: startMs },
});

test("the first sample counts from its start, and the same start is written once", async () => {
  const startMs = nowMs - 120_000;
  expect(await send(counter("c", startMs, nowMs - 60_000, 6))).toBe(204);
  expect(await send(counter("c", startMs, nowMs, 9))).toBe(204);
  expect(await valueOf("count_over_time(c[5m])")).toBe(3);
  expect(await valueOf("max_over_time(c[5m]) - min_over_time(c[5m])")).toBe(9);
  expect(receivers.counted("remote_write")).toEqual({ stored: 2 });
});

test("a restart between two samples is a reset at its time, though the value is higher than before", async () => {
  await send(counter("r", nowMs - 400_000, nowMs - 120_000, 5));
  await send(counter("r", nowMs - 60_000, nowMs, 8));
  expect(await valueOf("resets(r[250s])")).toBe(1);
  expect(await valueOf("count_over_time(r[250s])")).toBe(3);
});

test("a start that is older than the last sample, or not before its own, is left out in silence", async () => {
  await send({ labels: { __name__: "o" }, samples: [[nowMs - 60_000, 1]] });
  expect(await send(counter("o", nowMs - 120_000, nowMs - 30_000, 2))).toBe(204);
  expect(await send(counter("o", nowMs, nowMs, 3))).toBe(204);
  expect(await valueOf("count_over_time(o[10m])")).toBe(3);
});

test("a histogram starts with an empty one", async () => {
  const histogram = {
    count_int: 2,
    sum: 3,
    positive_spans: [{ length: 1 }],
    positive_deltas: [2],
    timestamp: nowMs,
    start_timestamp: nowMs - 60_000,
  };
  expect(
    await send({ labels: { __name__: "h" }, samples: [], rest: { histograms: [histogram] } }),
  ).toBe(204);
  expect(await valueOf("count_over_time(h[5m])")).toBe(2);
  expect(await valueOf("histogram_count(increase(h[1m:1s]))")).toBeGreaterThan(0);
});
