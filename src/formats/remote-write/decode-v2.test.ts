import protobuf from "protobufjs";
import { expect, test } from "vitest";
import { fuzzInputs, fuzzTimeoutMs, mutate, seededRandom } from "../../../test/fuzz/mutate.ts";
import { ProtoError } from "../protobuf/reader.ts";
import type { SampleBatch } from "../samples/batch.ts";
import { readLabelBlock } from "../samples/labels.ts";
import { decodeWriteRequestV2 } from "./decode-v2.ts";

const { root } = protobuf.parse(
  `syntax = "proto3";
message Request { repeated string symbols = 4; repeated TimeSeries timeseries = 5; }
message TimeSeries { repeated uint32 labels_refs = 1; repeated Sample samples = 2; repeated Histogram histograms = 3; repeated Exemplar exemplars = 4; Metadata metadata = 5; int64 created_timestamp = 6; }
message Sample { double value = 1; int64 timestamp = 2; int64 start_timestamp = 3; }
message Exemplar { repeated uint32 labels_refs = 1; double value = 2; int64 timestamp = 3; }
message Histogram { uint64 count_int = 1; double sum = 3; }
message Metadata { int32 type = 1; uint32 help_ref = 3; uint32 unit_ref = 4; }
message Unpacked { repeated uint32 labels_refs = 1 [packed = false]; repeated Sample samples = 2; }
message UnpackedRequest { repeated string symbols = 4; repeated Unpacked timeseries = 5; }`,
  { keepCase: true },
);
const encode = (request: object, type = "Request"): Buffer => {
  const found = root.lookupType(type);
  return Buffer.from(found.encode(found.fromObject(request)).finish());
};

const symbols = ["", "__name__", "up", "job", "gpulse", "Is it?", "x_seconds_bucket", "s", "ä"];
const timeMs = 1_794_710_418_438;

function plain(batch: SampleBatch): unknown {
  return Array.from({ length: batch.seriesCount }, (_, series) => ({
    labels: readLabelBlock(
      batch.bytes,
      batch.labelStarts[series] ?? 0,
      batch.labelEnds[series] ?? 0,
    ),
    samples: Array.from(batch.sampleSeries)
      .map((owner, index) => [owner, batch.times[index], batch.values[index]] as const)
      .filter(([owner]) => owner === series)
      .map(([, time, value]) => [time, value]),
  }));
}

const request = {
  symbols,
  timeseries: [
    {
      labels_refs: [1, 2, 3, 4],
      samples: [
        { value: 1, timestamp: timeMs },
        { value: 0, timestamp: timeMs + 1, start_timestamp: 5 },
        { value: -1.5e300, timestamp: -1 },
      ],
      metadata: { type: 2, help_ref: 5 },
      created_timestamp: timeMs,
    },
    { labels_refs: [1, 6, 8, 8], samples: [{ value: Infinity, timestamp: 1 }] },
    { labels_refs: [1, 6], metadata: { type: 3, unit_ref: 7 } },
  ],
};
const expected = [
  {
    labels: [
      ["__name__", "up"],
      ["job", "gpulse"],
    ],
    samples: [
      [timeMs, 1],
      [timeMs + 1, 0],
      [-1, -1.5e300],
    ],
  },
  {
    labels: [
      ["__name__", "x_seconds_bucket"],
      ["ä", "ä"],
    ],
    samples: [[1, Infinity]],
  },
  { labels: [["__name__", "x_seconds_bucket"]], samples: [] },
];

test("series, samples and the metadata of their metrics come out; start times beside them", () => {
  const { batch, problem } = decodeWriteRequestV2(encode(request));
  expect(plain(batch)).toEqual(expected);
  expect(problem).toBeUndefined();
  expect(batch.metadata).toEqual([
    { family: "up", type: "gauge", help: "Is it?", unit: "" },
    { family: "x_seconds", type: "histogram", help: "", unit: "s" },
  ]);
});

test("references that are not packed, and symbols that come last, mean the same", () => {
  const { symbols: table, timeseries } = request;
  const bare = timeseries.map(({ labels_refs, samples = [] }) => ({ labels_refs, samples }));
  const bytes = Buffer.concat([
    encode({ timeseries: bare }, "UnpackedRequest"),
    encode({ symbols: table }),
  ]);
  expect(plain(decodeWriteRequestV2(bytes).batch)).toEqual(expected);
});

test("long texts, and more series than the first tables hold", () => {
  const long = ["", "__name__", ...Array.from({ length: 600 }, (_, i) => `m${"x".repeat(i)}`)];
  const timeseries = Array.from({ length: 600 }, (_, i) => ({
    labels_refs: [1, i + 2],
    samples: [{ value: i, timestamp: timeMs }],
  }));
  const { batch } = decodeWriteRequestV2(encode({ symbols: long, timeseries }));
  expect(plain(batch)).toEqual(
    timeseries.map((_, i) => ({ labels: [["__name__", long[i + 2]]], samples: [[timeMs, i]] })),
  );
});

test.each([
  [[1, 99], "a label points to symbol 99 of 9"],
  [[1, 2, 3], "a series has a label name without a value"],
  [Array.from({ length: 600 }, () => 1), "a series has more than 256 labels"],
])(
  "a series whose references lead nowhere has no labels, and the others have theirs: %#",
  (refs, sentence) => {
    const samples = [{ value: 1, timestamp: 1 }];
    const { batch, problem } = decodeWriteRequestV2(
      encode({
        symbols,
        timeseries: [
          { labels_refs: refs, samples },
          { labels_refs: [1, 2], samples },
        ],
      }),
    );
    expect(problem).toBe(sentence);
    expect(batch.labelEnds[0]).toBe(batch.labelStarts[0]);
    expect(readLabelBlock(batch.bytes, batch.labelStarts[1] ?? 0, batch.labelEnds[1] ?? 0)).toEqual(
      [["__name__", "up"]],
    );
  },
);

test("a request cut at any byte is decoded or refused, never anything else", () => {
  const whole = encode(request);
  for (let length = 0; length < whole.length; length++) {
    try {
      decodeWriteRequestV2(whole.subarray(0, length));
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(ProtoError);
    }
  }
});

test(
  "broken bytes end in series or in our error, never in a hang",
  () => {
    const random = seededRandom(12);
    const sample = encode(request);
    let decoded = 0;
    for (let count = 0; count < fuzzInputs; count++) {
      const input = mutate([sample], random);
      try {
        plain(decodeWriteRequestV2(input).batch);
        decoded++;
      } catch (thrown) {
        if (!(thrown instanceof ProtoError)) throw thrown;
      }
    }
    expect(decoded).toBeGreaterThan(0);
  },
  fuzzTimeoutMs,
);
