import protobuf from "protobufjs";
import { expect, test } from "vitest";
import { fuzzInputs, fuzzTimeoutMs, mutate, seededRandom } from "../../../test/fuzz/mutate.ts";
import { decodeWriteRequest } from "./decode.ts";
import { ProtoError } from "../protobuf/reader.ts";
import type { SampleBatch } from "../samples/batch.ts";
import { readLabelBlock } from "../samples/labels.ts";

const { root } = protobuf.parse(`syntax = "proto3";
message WriteRequest { repeated TimeSeries timeseries = 1; repeated MetricMetadata metadata = 3; }
message TimeSeries { repeated Label labels = 1; repeated Sample samples = 2; repeated Exemplar exemplars = 3; repeated Histogram histograms = 4; }
message Label { string name = 1; string value = 2; }
message Sample { double value = 1; int64 timestamp = 2; }
message Exemplar { repeated Label labels = 1; double value = 2; int64 timestamp = 3; }
message Histogram { uint64 count_int = 1; double sum = 3; }
message MetricMetadata { int32 type = 1; string metric_family_name = 2; string help = 4; string unit = 5; }`);
const WriteRequest = root.lookupType("WriteRequest");

const encode = (request: object): Buffer =>
  Buffer.from(WriteRequest.encode(WriteRequest.fromObject(request)).finish());
const labels = (given: Record<string, string>): object[] =>
  Object.entries(given).map(([name, value]) => ({ name, value }));

/** The batch as plain data, for comparisons. */
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
  timeseries: [
    {
      labels: labels({ __name__: "up", job: "gpulse" }),
      samples: [
        { value: 1, timestamp: 1_794_710_418_438 },
        { value: 0, timestamp: 0 },
      ],
    },
    {
      labels: labels({ __name__: "x", ä: "ö" }),
      samples: [
        { value: -1.5e300, timestamp: -62_135_596_800_000 },
        { value: Infinity, timestamp: 1 },
      ],
    },
    { labels: labels({ __name__: "empty" }) },
  ],
  metadata: [{ type: 1, metric_family_name: "up", help: "Is it?", unit: "" }],
};

test("series, labels, samples and metadata come out as they went in", () => {
  const batch = decodeWriteRequest(
    encode({ ...request, metadata: [{ type: 1, metricFamilyName: "up", help: "Is it?" }] }),
  );
  expect(plain(batch)).toEqual([
    {
      labels: [
        ["__name__", "up"],
        ["job", "gpulse"],
      ],
      samples: [
        [1_794_710_418_438, 1],
        [0, 0],
      ],
    },
    {
      labels: [
        ["__name__", "x"],
        ["ä", "ö"],
      ],
      samples: [
        [-62_135_596_800_000, -1.5e300],
        [1, Infinity],
      ],
    },
    { labels: [["__name__", "empty"]], samples: [] },
  ]);
  expect(batch.metadata).toEqual([{ family: "up", type: "counter", help: "Is it?", unit: "" }]);
});

test("long labels and times of every length come out among the common ones", () => {
  const timeseries = [5, 127, 128, 300].map((length, index) => ({
    labels: labels({ __name__: "a", long: "x".repeat(length), z: String(index) }),
    samples: [1e12, 2 ** 35 - 1, 2 ** 35, 2 ** 42 - 1, 2 ** 42, 2 ** 52, -1, 127].map(
      (timestamp, sample) => ({ value: sample / 3, timestamp }),
    ),
  }));
  const got = plain(decodeWriteRequest(encode({ timeseries })));
  expect(got).toEqual(
    timeseries.map(({ labels: given, samples }) => ({
      labels: given.map((label) => Object.values<string>({ ...label })),
      samples: samples.map(({ timestamp, value }) => [timestamp, value]),
    })),
  );
});

test("a stale marker keeps every bit", () => {
  const bytes = encode({
    timeseries: [
      { labels: labels({ __name__: "up" }), samples: [{ value: 12_345.678, timestamp: 1 }] },
    ],
  });
  const marker = Buffer.alloc(8);
  marker.writeBigUInt64LE(0x7ff0000000000002n);
  const at = bytes.indexOf(Buffer.from(new Float64Array([12_345.678]).buffer));
  marker.copy(bytes, at);
  const { values } = decodeWriteRequest(bytes);
  expect(Buffer.from(values.buffer, values.byteOffset, 8).readBigUInt64LE()).toBe(
    0x7ff0000000000002n,
  );
});

test("more samples than the first columns hold, NaN payloads included", () => {
  const samples = Array.from({ length: 5_000 }, (_, index) => ({
    value: index / 7,
    timestamp: index,
  }));
  const batch = decodeWriteRequest(
    encode({ timeseries: [{ labels: labels({ __name__: "a" }), samples }] }),
  );
  expect(Array.from(batch.values)).toEqual(samples.map(({ value }) => value));
});

test("labels that stand behind a sample are gathered all the same", () => {
  const one = encode({
    timeseries: [{ labels: labels({ __name__: "a" }), samples: [{ value: 1, timestamp: 5 }] }],
  });
  const two = encode({ timeseries: [{ labels: labels({ b: "c" }) }] });
  // In protobuf, the concatenated bodies of two TimeSeries are one TimeSeries.
  const body = Buffer.concat([one.subarray(2), two.subarray(2)]);
  const batch = decodeWriteRequest(Buffer.concat([Buffer.from([0x0a, body.length]), body]));
  expect(plain(batch)).toEqual([
    {
      labels: [
        ["__name__", "a"],
        ["b", "c"],
      ],
      samples: [[5, 1]],
    },
  ]);
});

test.each([
  [{}, "a series has no metric name"],
  [{ __name__: "" }, "a series has no metric name"],
  [{ __name__: "a", b: "x".repeat(20_000) }, 'the value of label "b" is longer than 16384 bytes'],
  [{ __name__: "a", ["n".repeat(2_000)]: "x" }, "a label name is longer than 1024 bytes"],
  [
    Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`l${index}`, "x"])),
    "a series has more than 128 labels",
  ],
])("bad labels are refused: %#", (given, sentence) => {
  const batch = decodeWriteRequest(encode({ timeseries: [{ labels: labels(given) }] }));
  expect(() => plain(batch)).toThrow(sentence);
});

test("a label name that stands twice is refused", () => {
  const twice = encode({
    timeseries: [{ labels: [...labels({ __name__: "a", b: "1" }), ...labels({ b: "2" })] }],
  });
  expect(() => plain(decodeWriteRequest(twice))).toThrow('label "b" occurs twice');
});

test(
  "broken bytes end in a list of series or in our error, never in a hang",
  () => {
    const random = seededRandom(11);
    const sample = encode({ timeseries: request.timeseries });
    for (let count = 0; count < fuzzInputs; count++) {
      const input = mutate([sample], random);
      let ours: unknown;
      try {
        ours = plain(decodeWriteRequest(input));
      } catch (thrown) {
        if (!(thrown instanceof ProtoError)) throw thrown;
        continue;
      }
      expect(ours, "a result is a list of series").toBeInstanceOf(Array);
    }
  },
  fuzzTimeoutMs,
);
