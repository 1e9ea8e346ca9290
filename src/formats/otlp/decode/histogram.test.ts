// Tests native histograms, exemplars and start times of OTLP in both encodings.
import { expect, test } from "vitest";
import { otlpProtobuf, textAttributes } from "../../../../test/fixtures/formats/otlp-decode.ts";
import { readHistogram } from "../../../model/histogram/notation.ts";
import { isStale } from "../../../model/stale.ts";
import { type SampleBatch, wordsOf } from "../../samples/batch.ts";
import { type OtlpBatch, otlpBatch, type OtlpBatchOptions } from "./batch.ts";
import { OtlpCache } from "./cache.ts";
import { decodeOtlpJson } from "./json.ts";
import { decodeOtlp } from "./protobuf.ts";

const timeMs = 1_794_710_418_438;
const timeUnixNano = `${timeMs}000000`;
const requestOf = (metric: object): object => ({
  resourceMetrics: [{ resource: { attributes: [] }, scopeMetrics: [{ metrics: [metric] }] }],
});

/** Decodes both encodings of a request, which must give the same batch. */
function both(metric: object, options: OtlpBatchOptions = {}): OtlpBatch {
  const request = requestOf(metric);
  const fromBytes = otlpBatch(decodeOtlp(otlpProtobuf(request)), new OtlpCache(), options);
  const fromJson = otlpBatch(decodeOtlpJson(JSON.stringify(request)), new OtlpCache(), options);
  const parts = ({ histograms, exemplars, starts, refusedHistograms }: SampleBatch): unknown => ({
    histograms,
    exemplars,
    starts,
    refusedHistograms,
  });
  expect(parts(fromJson.batch)).toEqual(parts(fromBytes.batch));
  return fromBytes;
}

const exponential = (point: object, rest: object = {}): object => ({
  name: "e",
  exponentialHistogram: {
    aggregationTemporality: 2,
    dataPoints: [{ timeUnixNano, ...point }],
    ...rest,
  },
});
const example = {
  count: "9",
  sum: 12.5,
  scale: 1,
  zeroCount: "2",
  zeroThreshold: 0.25,
  positive: { offset: -1, bucketCounts: ["1", "0", "3"] },
  negative: { offset: 3, bucketCounts: ["3"] },
};

test("an exponential histogram is a native one, each index one higher", () => {
  expect(both(exponential(example)).batch.histograms).toEqual([
    readHistogram(
      "{{schema:1 count:9 sum:12.5 z_bucket:2 z_bucket_w:0.25 buckets:[1 0 3] n_offset:4 n_buckets:[3]}}",
    ),
  ]);
});

test("a scale above 8 is reduced, one below -4 refused; without a zero threshold it is next to nothing", () => {
  const fine = { count: 3, scale: 10, positive: { offset: 0, bucketCounts: [1, 1, 1] } };
  expect(both(exponential(fine)).batch.histograms).toEqual([
    readHistogram("{{schema:8 count:3 z_bucket_w:1e-128 offset:1 buckets:[3]}}"),
  ]);
  const { batch } = both(exponential({ count: 1, scale: -5, zeroCount: 1 }));
  expect([batch.sampleCount, batch.refusedHistograms]).toMatchObject([
    0,
    [{ reason: "histogram_schema", count: 1 }],
  ]);
});

test("more buckets than the limit are merged", () => {
  const { batch } = both(exponential(example), { bucketLimit: 3 });
  expect(batch.histograms).toMatchObject([{ count: 9, schema: 0 }]);
});

test("counts that do not add up are refused, the series' end is its staleness marker", () => {
  expect(both(exponential({ ...example, count: 10 })).batch.refusedHistograms).toMatchObject([
    { reason: "histogram_count_mismatch" },
  ]);
  const { batch } = both(exponential({ flags: 1 }));
  expect(isStale(wordsOf(batch), 0)).toBe(true);
});

test("delta temporality is marked, exponential histograms too", () => {
  const delta = both(exponential(example, { aggregationTemporality: 1 }));
  expect([delta.deltaSeries, delta.batch.sampleCount]).toEqual([[0], 1]);
  expect(both(exponential(example, { aggregationTemporality: 0 })).unspecified).toBe(1);
});

const explicit = {
  name: "h",
  unit: "s",
  histogram: {
    aggregationTemporality: 2,
    dataPoints: [
      { timeUnixNano, count: 6, sum: 9, explicitBounds: [0.5, 1], bucketCounts: [2, 3, 1] },
    ],
  },
};

test("explicit histograms become custom buckets where asked for", () => {
  const { batch } = both(explicit, { toCustomBuckets: true });
  expect(batch.histograms).toEqual([
    readHistogram("{{schema:-53 count:6 sum:9 custom_values:[0.5 1] buckets:[2 3 1]}}"),
  ]);
  expect(batch.metadata).toMatchObject([{ family: "h_seconds", type: "histogram" }]);
  expect(both(explicit).batch.histograms).toBeUndefined();
});

test("exemplars name their trace, span and as many attributes as fit; starts come where they are used", () => {
  const exemplar = {
    timeUnixNano,
    asDouble: 0.5,
    filteredAttributes: textAttributes({ "http.route": "/x" }),
  };
  const ids = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };
  const point = { ...example, startTimeUnixNano: `${timeMs - 60_000}000000` };
  const bytes = {
    traceId: Buffer.from(ids.traceId, "hex").toString("base64"),
    spanId: Buffer.from(ids.spanId, "hex").toString("base64"),
  };
  const read = (given: object, json: boolean): SampleBatch => {
    const request = requestOf(exponential({ ...point, exemplars: [{ ...exemplar, ...given }] }));
    const resources = json
      ? decodeOtlpJson(JSON.stringify(request))
      : decodeOtlp(otlpProtobuf(request));
    return otlpBatch(resources, new OtlpCache(), { usesStarts: true }).batch;
  };
  for (const batch of [read(ids, true), read(bytes, false)]) {
    expect(batch.exemplars).toEqual([
      {
        series: 0,
        labels: [
          ["span_id", ids.spanId],
          ["trace_id", ids.traceId],
          ["http_route", "/x"],
        ],
        value: 0.5,
        timeMs,
      },
    ]);
    expect(batch.starts).toMatchObject([
      { series: 0, startMs: timeMs - 60_000, sampleMs: timeMs, histogram: { count: 9 } },
    ]);
  }
});
