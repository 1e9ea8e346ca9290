import { expect, test } from "vitest";
import { GpulseError } from "../../../base/error.ts";
import { fuzz, fuzzInputs, fuzzTimeoutMs } from "../../../../test/fuzz/mutate.ts";
import { isStale } from "../../../model/stale.ts";
import { ProtoError } from "../../protobuf/reader.ts";
import { batchLines } from "../../../../test/fixtures/formats/samples.ts";
import { type OtlpBatch, otlpBatch } from "./batch.ts";
import {
  keyValue,
  otlpProtobuf,
  textAttributes,
} from "../../../../test/fixtures/formats/otlp-decode.ts";
import { decodeOtlpJson } from "./json.ts";
import { OtlpError } from "./model.ts";
import { decodeOtlp } from "./protobuf.ts";

const timeMs = 1_794_710_418_438;
const timeUnixNano = `${timeMs}000000`;
const oneOf = (metrics: object[], attributes: object[] = []): object => ({
  resourceMetrics: [{ resource: { attributes }, scopeMetrics: [{ metrics }] }],
});
const gauge = (point: object, rest: object = {}): object => ({
  name: "g",
  gauge: { dataPoints: [{ timeUnixNano, ...point }] },
  ...rest,
});

/** Decodes both encodings of a request, which must give the same batch. */
function both(request: object): OtlpBatch {
  const fromBytes = otlpBatch(decodeOtlp(otlpProtobuf(request)));
  const fromJson = otlpBatch(decodeOtlpJson(JSON.stringify(request)));
  expect(batchLines(fromJson.batch)).toEqual(batchLines(fromBytes.batch));
  expect({ ...fromJson, batch: fromJson.batch.metadata }).toEqual({
    ...fromBytes,
    batch: fromBytes.batch.metadata,
  });
  return fromBytes;
}
const lines = (request: object): string[] => batchLines(both(request).batch);

test.each<[string, object, string]>([
  ["a double", gauge({ asDouble: 1.5 }), `g{} 1.5 @${timeMs}`],
  ["a whole number", gauge({ asInt: "-7" }), `g{} -7 @${timeMs}`],
  ["zero that was reported", gauge({ asDouble: 0 }), `g{} 0 @${timeMs}`],
  ["NaN", gauge({ asDouble: "NaN" }), `g{} NaN @${timeMs}`],
  [
    "the last nanosecond",
    gauge({ asInt: 1, timeUnixNano: "1794710418438999999" }),
    `g{} 1 @${timeMs}`,
  ],
  [
    "attributes of every type",
    gauge({
      asInt: 1,
      attributes: [
        keyValue("http.method", { stringValue: "GET" }),
        keyValue("ok", { boolValue: true }),
        keyValue("n", { intValue: "42" }),
        keyValue("d", { doubleValue: 0.5 }),
        keyValue("Up", { stringValue: "first" }),
        keyValue("list", { arrayValue: { values: [{ stringValue: "a" }, { intValue: 1 }] } }),
        keyValue("map", { kvlistValue: { values: [keyValue("k", { boolValue: false })] } }),
        keyValue("bytes", { bytesValue: "AQI=" }),
        keyValue("empty", {}),
        keyValue("1st", { stringValue: "x" }),
      ],
    }),
    `g{Up="first",bytes="AQI=",d="0.5",http_method="GET",key_1st="x",list="[\\"a\\",1]",map="{\\"k\\":false}",n="42",ok="true"} 1 @${timeMs}`,
  ],
  [
    "attributes that become one label",
    gauge({ asInt: 1, attributes: textAttributes({ "a.b": "2", a_b: "3", "a-b": "1" }) }),
    `g{a_b="1;2;3"} 1 @${timeMs}`,
  ],
])("%s", (_name, metric, line) => expect(lines(oneOf([metric]))).toEqual([line]));

test("sums: what only rises is a total, what falls is not, and without a temporality it is refused", () => {
  const sum = (rest: object): object => ({
    name: "requests",
    unit: "{request}",
    description: "All.",
    sum: {
      aggregationTemporality: 2,
      isMonotonic: true,
      dataPoints: [{ timeUnixNano, asInt: 5 }],
      ...rest,
    },
  });
  const made = both(
    oneOf([
      sum({}),
      sum({ isMonotonic: false }),
      sum({ aggregationTemporality: 1 }),
      sum({ aggregationTemporality: 0 }),
    ]),
  );
  expect(batchLines(made.batch)).toEqual([
    `requests_total{} 5 @${timeMs}`,
    `requests{} 5 @${timeMs}`,
    `requests_total{} 5 @${timeMs}`,
  ]);
  expect(made).toMatchObject({
    deltaSeries: [2],
    unspecified: 1,
    malformed: 0,
    problem: '"requests" has no temporality: set it to cumulative or delta',
  });
  expect(made.batch.metadata).toEqual([
    { family: "requests_total", type: "counter", help: "All.", unit: "{request}" },
    { family: "requests", type: "gauge", help: "All.", unit: "{request}" },
    { family: "requests_total", type: "counter", help: "All.", unit: "{request}" },
  ]);
});

test("a histogram becomes a classic one, its labels in order, each exemplar with its bucket", () => {
  const metric = {
    name: "latency",
    unit: "s",
    histogram: {
      aggregationTemporality: 2,
      dataPoints: [
        {
          timeUnixNano,
          attributes: textAttributes({ a: "1", z: "2", le: "mine" }),
          count: "6",
          sum: 3.5,
          bucketCounts: ["1", "2", "3"],
          explicitBounds: [0.0000001, 1e21],
          exemplars: [
            { asDouble: 1e22, timeUnixNano },
            { asDouble: 2, timeUnixNano },
          ],
        },
      ],
    },
  };
  const made = both(oneOf([metric]));
  expect(batchLines(made.batch)).toEqual([
    `latency_seconds_sum{a="1",le="mine",z="2"} 3.5 @${timeMs}`,
    `latency_seconds_count{a="1",le="mine",z="2"} 6 @${timeMs}`,
    `latency_seconds_bucket{a="1",le="0.0000001",z="2"} 1 @${timeMs}`,
    `latency_seconds_bucket{a="1",le="1000000000000000000000",z="2"} 3 @${timeMs}`,
    `latency_seconds_bucket{a="1",le="+Inf",z="2"} 6 @${timeMs}`,
  ]);
  expect(made.batch.exemplars).toEqual([
    { series: 3, labels: [], value: 2, timeMs },
    { series: 4, labels: [], value: 1e22, timeMs },
  ]);
});

test("a histogram without a sum has none", () => {
  const dataPoints = [{ timeUnixNano, count: 2, bucketCounts: [2], explicitBounds: [] }];
  const made = both(oneOf([{ name: "h", histogram: { aggregationTemporality: 2, dataPoints } }]));
  expect(batchLines(made.batch)).toEqual([
    `h_count{} 2 @${timeMs}`,
    `h_bucket{le="+Inf"} 2 @${timeMs}`,
  ]);
});

test("a summary keeps its quantiles", () => {
  const quantileValues = [
    { quantile: 0.5, value: 1 },
    { quantile: 1, value: 2 },
  ];
  const summary = { dataPoints: [{ timeUnixNano, count: 3, sum: 4, quantileValues }] };
  expect(lines(oneOf([{ name: "s", summary }]))).toEqual([
    `s_sum{} 4 @${timeMs}`,
    `s_count{} 3 @${timeMs}`,
    `s{quantile="0.5"} 1 @${timeMs}`,
    `s{quantile="1"} 2 @${timeMs}`,
  ]);
});

test("a point without a recorded value ends its series; one without any value is refused", () => {
  const made = both(
    oneOf([
      gauge({ flags: 1 }),
      gauge({}, { name: "nothing" }),
      gauge({ asInt: 1 }, { name: "…" }),
    ]),
  );
  const words = new Uint32Array(made.batch.values.slice().buffer);
  expect([made.batch.sampleCount, isStale(words, 0)]).toEqual([1, true]);
  expect([made.malformed, made.problem]).toEqual([2, 'a point of "nothing" has no value']);
});

test("a resource gives job and instance to all, and the rest of it to target_info", () => {
  const attributes = textAttributes({
    "service.namespace": "shop",
    "service.name": "cart",
    "service.instance.id": "cart-1",
    "host.name": "box",
  });
  expect(
    lines(oneOf([gauge({ asInt: 1, attributes: textAttributes({ job: "mine" }) })], attributes)),
  ).toEqual([
    `g{instance="cart-1",job="shop/cart"} 1 @${timeMs}`,
    `target_info{host_name="box",instance="cart-1",job="shop/cart"} 1 @${timeMs}`,
  ]);
  const bare = textAttributes({ "service.name": "cart" });
  expect(lines(oneOf([gauge({ asInt: 1 })], bare))).toEqual([`g{job="cart"} 1 @${timeMs}`]);
});

test("target_info covers what the request spans, within bounds", () => {
  const attributes = textAttributes({ "service.name": "cart", "host.name": "box" });
  const spanning = (firstMs: number): string[] =>
    lines(
      oneOf(
        [firstMs, timeMs].map((at) => gauge({ asInt: 1, timeUnixNano: `${at}000000` })),
        attributes,
      ),
    ).filter((line) => line.startsWith("target_info"));
  expect(spanning(timeMs - 400_000).map((line) => line.split("@")[1])).toEqual(
    [400_000, 250_000, 100_000, 0].map((before) => String(timeMs - before)),
  );
  expect(spanning(1)).toHaveLength(1);
});

test("an attribute nested without end is refused", () => {
  let value: object = { stringValue: "deep" };
  for (let depth = 0; depth < 30; depth++) value = { arrayValue: { values: [value] } };
  const request = oneOf([gauge({ asInt: 1, attributes: [keyValue("a", value)] })]);
  expect(() => decodeOtlp(otlpProtobuf(request))).toThrow("nested too deep");
  expect(() => decodeOtlpJson(JSON.stringify(request))).toThrow("nested too deep");
});

const everything = oneOf(
  [
    gauge({
      asDouble: 1.5,
      attributes: [keyValue("l", { arrayValue: { values: [{ intValue: 1 }] } })],
    }),
    {
      name: "s",
      unit: "By/s",
      sum: {
        aggregationTemporality: 2,
        isMonotonic: true,
        dataPoints: [{ timeUnixNano, asInt: 5 }],
      },
    },
    {
      name: "h",
      histogram: {
        aggregationTemporality: 2,
        dataPoints: [{ timeUnixNano, count: 2, sum: 1, bucketCounts: [1, 1], explicitBounds: [1] }],
      },
    },
    {
      name: "q",
      summary: {
        dataPoints: [
          { timeUnixNano, count: 3, sum: 4, quantileValues: [{ quantile: 0.5, value: 1 }] },
        ],
      },
    },
  ],
  textAttributes({ "service.name": "cart", "host.name": "box" }),
);

test("a request cut at any byte is decoded or refused, never anything else", () => {
  const whole = otlpProtobuf(everything);
  for (let length = 0; length < whole.length; length++) {
    try {
      otlpBatch(decodeOtlp(whole.subarray(0, length)));
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(ProtoError);
    }
  }
});

test.each([
  ["protobuf", otlpProtobuf(everything), (bytes: Buffer) => decodeOtlp(bytes)],
  [
    "JSON",
    Buffer.from(JSON.stringify(everything)),
    (bytes: Buffer) => decodeOtlpJson(bytes.toString()),
  ],
])(
  "broken %s ends in samples or in our error, never in a hang",
  async (_name, sample, decode) => {
    const parse = (bytes: Buffer): void => {
      try {
        otlpBatch(decode(bytes));
      } catch (thrown) {
        const expected = [ProtoError, OtlpError, SyntaxError].some(
          (type) => thrown instanceof type,
        );
        throw expected ? new GpulseError("FILE_FORMAT", String(thrown)) : thrown;
      }
    };
    expect(await fuzz({ seed: 31, samples: [sample], parse })).toBe(fuzzInputs);
  },
  fuzzTimeoutMs,
);
