// Tests native histograms, exemplars and start times of both versions with bytes written and read by protobufjs.
import { expect, test } from "vitest";
import {
  readRequestV2,
  readWriteRequest,
  requestV2Bytes,
  writeRequestBytes,
} from "../../../test/fixtures/formats/remote-write-proto.ts";
import { readHistogram } from "../../model/histogram/notation.ts";
import { isStale } from "../../model/stale.ts";
import { histogramOf, type SampleBatch, wordsOf } from "../samples/batch.ts";
import { BatchBuilder } from "../samples/builder.ts";
import { decodeWriteRequestV2 } from "./decode-v2.ts";
import { decodeWriteRequest } from "./decode.ts";
import { encodeWriteRequestV2 } from "./encode-v2.ts";
import { encodeWriteRequest } from "./encode.ts";

const symbols = ["", "__name__", "h", "trace_id", "abc"];
const v1 = (series: object): SampleBatch =>
  decodeWriteRequest(
    writeRequestBytes({ timeseries: [{ labels: [{ name: "__name__", value: "h" }], ...series }] }),
  );
const v2 = (series: object): SampleBatch =>
  decodeWriteRequestV2(
    requestV2Bytes({ symbols, timeseries: [{ labels_refs: [1, 2], ...series }] }),
    { usesStarts: true },
  ).batch;
const versions = { "1.0": v1, "2.0": v2 };

/** Time and value of each sample; a histogram unchanged, a staleness marker by name. */
function samplesOf(batch: SampleBatch): (readonly [timeMs: number, value: unknown])[] {
  const words = wordsOf(batch);
  return Array.from(batch.times, (timeMs, at) => [
    timeMs,
    isStale(words, at)
      ? "stale"
      : (histogramOf(batch, words[at * 2] ?? 0, words[at * 2 + 1] ?? 0) ?? batch.values[at]),
  ]);
}

const integer = {
  count_int: 12,
  sum: 18.4,
  schema: 1,
  zero_threshold: 0.001,
  zero_count_int: 2,
  positive_spans: [
    { offset: -2, length: 2 },
    { offset: 3, length: 1 },
  ],
  positive_deltas: [1, 2, -2],
  negative_spans: [{ offset: 1, length: 2 }],
  negative_deltas: [2, 1],
  reset_hint: 2,
  timestamp: 1_000,
};
const asNotation =
  "{{schema:1 count:12 sum:18.4 z_bucket:2 z_bucket_w:0.001 counter_reset_hint:not_reset offset:-2 buckets:[1 3 0 0 0 1] n_offset:1 n_buckets:[2 3]}}";

for (const [version, decode] of Object.entries(versions)) {
  test(`${version}: an integer histogram, beside a float of its series`, () => {
    const batch = decode({ samples: [{ value: 7, timestamp: 500 }], histograms: [integer] });
    const expected = readHistogram(asNotation);
    const positive = {
      indexes: Int32Array.of(-2, -1, 3),
      counts: Float64Array.of(1, 3, 1),
    };
    expect(samplesOf(batch)).toEqual([
      [500, 7],
      [1_000, { ...expected, positive }],
    ]);
    expect(batch.refusedHistograms).toEqual([]);
  });

  test(`${version}: a float histogram, one with custom bounds, and the end of a series`, () => {
    const batch = decode({
      histograms: [
        {
          count_float: 2.5,
          sum: 3,
          zero_count_float: 0.5,
          positive_spans: [{ offset: 0, length: 1 }],
          positive_counts: [2],
          reset_hint: 3,
          timestamp: 1,
        },
        {
          count_int: 3,
          sum: 5,
          schema: -53,
          positive_spans: [{ offset: 0, length: 3 }],
          positive_deltas: [1, -1, 2],
          custom_values: [0.5, 1],
          timestamp: 2,
        },
      ],
    });
    expect(samplesOf(batch)).toEqual([
      [1, readHistogram("{{count:2.5 sum:3 z_bucket:0.5 buckets:[2] counter_reset_hint:gauge}}")],
      [2, readHistogram("{{schema:-53 count:3 sum:5 custom_values:[0.5 1] buckets:[1 0 2]}}")],
    ]);
  });

  test(`${version}: malformed histograms are refused by reason, everything beside them is decoded`, () => {
    const batch = decode({
      samples: [{ value: 7, timestamp: 5 }],
      histograms: [
        { ...integer, schema: 77 },
        { ...integer, positive_deltas: [1] },
        { ...integer, count_int: 3 },
        { ...integer, schema: -77 },
        { ...integer, timestamp: 6 },
      ],
    });
    expect(batch.times).toEqual(Float64Array.of(5, 6));
    expect(batch.refusedHistograms.map(({ reason, count }) => [reason, count])).toEqual([
      ["histogram_schema", 2],
      ["histogram_spans", 1],
      ["histogram_count_mismatch", 1],
    ]);
    expect(batch.refusedHistograms[0]?.problem).toBe(
      "native histogram: schema 77 is unknown: -4 to 8 and -53 are supported",
    );
  });
}

test("the bucket limit merges buckets", () => {
  const bytes = writeRequestBytes({
    timeseries: [
      {
        labels: [{ name: "__name__", value: "h" }],
        histograms: [
          {
            count_int: 4,
            positive_spans: [{ offset: 1, length: 4 }],
            positive_deltas: [1, 0, 0, 0],
          },
        ],
      },
    ],
  });
  const [one] = decodeWriteRequest(bytes, 2).histograms ?? [];
  expect(one).toEqual(readHistogram("{{schema:-1 count:4 offset:1 buckets:[2 2]}}"));
});

test("a sum that is the staleness marker ends the series", () => {
  // sum = 3, wire type 1, then the marker's bytes; timestamp = 15.
  const histogram = Buffer.from("19020000000000f07f7805", "hex");
  const name = Buffer.from("0a0d0a085f5f6e616d655f5f120168", "hex");
  const field = Buffer.concat([Buffer.of(0x22, histogram.length), histogram]);
  const series = Buffer.concat([name, field]);
  const request = Buffer.concat([Buffer.of(0x0a, series.length), series]);
  expect(samplesOf(decodeWriteRequest(request))).toEqual([[5, "stale"]]);
});

/** A request with one histogram of schema 0 at 5 ms: a count of 6, and the bytes of its buckets. */
function requestWith(buckets: string): Buffer {
  const histogram = Buffer.from(`0806${buckets}7805`, "hex");
  const name = Buffer.from("0a0d0a085f5f6e616d655f5f120168", "hex");
  const series = Buffer.concat([name, Buffer.of(0x22, histogram.length), histogram]);
  return Buffer.concat([Buffer.of(0x0a, series.length), series]);
}

test("differences between bucket counts may be unpacked, or packed in several fields", () => {
  const expected = readHistogram("{{count:6 buckets:[1 2 3]}}");
  // A span (field 11) of three buckets, and three differences (field 12) of 1.
  for (const deltas of ["600260026002", "6203020202", "620202026002", "62010262020202"])
    expect(decodeWriteRequest(requestWith(`5a021003${deltas}`)).histograms).toEqual([expected]);
});

test("a histogram with other buckets than the previous one has its own indexes", () => {
  const at = (offset: number, timestamp: number): object => ({
    count_int: 2,
    positive_spans: [{ offset, length: 2 }],
    positive_deltas: [1, 0],
    timestamp,
  });
  const { histograms } = v1({ histograms: [at(1, 1), at(1, 2), at(2, 3)] });
  expect(histograms?.map(({ positive }) => [...positive.indexes])).toEqual([
    [1, 2],
    [1, 2],
    [2, 3],
  ]);
});

test("exemplars have labels, value and time; one with more than 128 characters of labels is counted", () => {
  const exemplar = { value: 0.5, timestamp: 9 };
  const first = v1({
    samples: [{ value: 1, timestamp: 1 }],
    exemplars: [
      { ...exemplar, labels: [{ name: "trace_id", value: "abc" }] },
      { ...exemplar, labels: [{ name: "trace_id", value: "x".repeat(121) }] },
      { ...exemplar, labels: [{ name: "", value: "x" }] },
    ],
  });
  const expected = [{ series: 0, labels: [["trace_id", "abc"]], value: 0.5, timeMs: 9 }];
  expect([first.exemplars, first.droppedExemplars]).toEqual([expected, 2]);
  const second = v2({
    exemplars: [
      { ...exemplar, labels_refs: [3, 4] },
      { ...exemplar, labels_refs: [3, 99] },
      { ...exemplar, labels_refs: [3] },
    ],
  });
  expect([second.exemplars, second.droppedExemplars]).toEqual([expected, 2]);
});

test("2.0: start times of samples, of histograms and of whole series", () => {
  const starts = (series: object): unknown => v2(series).starts;
  expect(
    starts({
      samples: [
        { value: 1, timestamp: 10, start_timestamp: 4 },
        { value: 2, timestamp: 20, start_timestamp: 4 },
        { value: 1, timestamp: 30, start_timestamp: 25 },
      ],
    }),
  ).toEqual([
    { series: 0, startMs: 4, sampleMs: 10 },
    { series: 0, startMs: 4, sampleMs: 20 },
    { series: 0, startMs: 25, sampleMs: 30 },
  ]);
  expect(starts({ samples: [{ value: 1, timestamp: 10 }], created_timestamp: 3 })).toEqual([
    { series: 0, startMs: 3, sampleMs: 10 },
  ]);
  expect(starts({ histograms: [{ timestamp: 10, start_timestamp: 5 }] })).toEqual([
    { series: 0, startMs: 5, sampleMs: 10, histogram: readHistogram("{{}}") },
  ]);
  expect(starts({ samples: [{ value: 1, timestamp: 10 }] })).toBeUndefined();
});

function mixedBatch(): SampleBatch {
  const builder = new BatchBuilder();
  const series = builder.series([["__name__", "h"]]);
  builder.addHistogram(series, 1_000, readHistogram(asNotation));
  builder.add(series, 2_000, 4);
  builder.addHistogram(series, 3_000, readHistogram("{{count:1.5 sum:NaN n_buckets:[1.5]}}"));
  const other = builder.series([["__name__", "c"]]);
  builder.addHistogram(
    other,
    4_000,
    readHistogram("{{schema:-53 count:3 sum:5 custom_values:[0.5 1] buckets:[1 0 2]}}"),
  );
  builder.addExemplar(other, { labels: [["trace_id", "abc"]], value: 0.25, timeMs: 4_001 });
  return builder.finish();
}

test("what is encoded is read by protobufjs as the definition says", () => {
  const expected = {
    ...integer,
    positive_spans: [{ offset: -2, length: 6 }],
    positive_deltas: [1, 2, -3, 0, 0, 1],
  };
  const first = {
    timeseries: [{ histograms: [expected] }, { exemplars: [{ value: 0.25, timestamp: 4_001 }] }],
  };
  expect(readWriteRequest(encodeWriteRequest(mixedBatch()))).toMatchObject({
    timeseries: [
      { samples: [{ value: 4, timestamp: 2_000 }], histograms: [expected, { count_float: 1.5 }] },
      { ...first.timeseries[1], histograms: [{ custom_values: [0.5, 1], schema: -53 }] },
    ],
  });
  expect(readRequestV2(encodeWriteRequestV2(mixedBatch()))).toMatchObject({
    symbols: ["", "trace_id", "abc", "__name__", "h", "c"],
    timeseries: [
      { histograms: [expected, { count_float: 1.5, negative_counts: [1.5] }] },
      { exemplars: [{ labels_refs: [1, 2], value: 0.25, timestamp: 4_001 }] },
    ],
  });
});

test("what is encoded comes back", () => {
  const batch = mixedBatch();
  // Floats precede the histograms of their series.
  const sorted = samplesOf(batch).sort(([a], [b]) => a - b);
  for (const back of [
    decodeWriteRequest(encodeWriteRequest(batch)),
    decodeWriteRequestV2(encodeWriteRequestV2(batch)).batch,
  ]) {
    expect(samplesOf(back).sort(([a], [b]) => a - b)).toEqual(sorted);
    expect(back.exemplars).toEqual(batch.exemplars);
  }
});

test("whole counts that do not add up are sent as floats, which receivers accept", () => {
  const builder = new BatchBuilder();
  const series = builder.series([["__name__", "h"]]);
  builder.addHistogram(series, 1_000, readHistogram("{{count:10 sum:4 buckets:[2 4]}}"));
  builder.addHistogram(series, 2_000, readHistogram("{{count:10 sum:NaN buckets:[2 4]}}"));
  const batch = builder.finish();
  expect(readWriteRequest(encodeWriteRequest(batch))).toMatchObject({
    timeseries: [{ histograms: [{ count_float: 10 }, { count_int: 10 }] }],
  });
  for (const back of [
    decodeWriteRequest(encodeWriteRequest(batch)),
    decodeWriteRequestV2(encodeWriteRequestV2(batch)).batch,
  ])
    expect(samplesOf(back)).toEqual(samplesOf(batch));
});
