import { expect, test } from "vitest";
import { GpulseError } from "../../base/error.ts";
import { fuzz, fuzzInputs, fuzzTimeoutMs } from "../../../test/fuzz/mutate.ts";
import { batchLines } from "../../../test/fixtures/formats/samples.ts";
import { decodePush } from "./decode.ts";

const nowMs = 1_790_000_000_000;
const lines = (document: unknown): string[] =>
  batchLines(decodePush(JSON.stringify(document), nowMs).batch);

test.each<[unknown, string[]]>([
  [{ metrics: { loss: 0.5 } }, ["loss{} 0.5 @1790000000000"]],
  [{ name: "loss", value: 1 }, ["loss{} 1 @1790000000000"]],
  [
    {
      job: "bench",
      instance: "box1",
      time: 1_700_000_000.25,
      labels: { run: 7, warm: true },
      metrics: [
        { name: "a_total", value: 42, labels: { run: "8", model: "llm" } },
        { name: "b", value: "NaN", time: "2030-01-31T12:00:00Z", instance: "box2" },
      ],
    },
    [
      'a_total{instance="box1",job="bench",model="llm",run="8",warm="true"} 42 @1700000000250',
      'b{instance="box2",job="bench",run="7",warm="true"} NaN @1896091200000',
    ],
  ],
  [
    [{ metrics: { a: true } }, { name: "b", value: "-Inf", time: 0 }],
    ["a{} 1 @1790000000000", "b{} -Infinity @0"],
  ],
  [{ metrics: { a: 1 }, labels: { empty: "" } }, ["a{} 1 @1790000000000"]],
])("%#", (document, expected) => expect(lines(document)).toEqual(expected));

test("one on each line", () => {
  const text = '{"name":"a","value":1,"time":1}\n\n{"metrics":{"b":2},"time":2}\n';
  expect(batchLines(decodePush(text, nowMs).batch)).toEqual(["a{} 1 @1000", "b{} 2 @2000"]);
});

test("the metadata of a metric is kept", () => {
  const { batch } = decodePush('{"name":"a","value":1,"type":"counter","help":"All."}', nowMs);
  expect(batch.metadata).toEqual([{ family: "a", type: "counter", help: "All.", unit: "" }]);
});

test.each<[unknown, string, string]>([
  [1, "", "must be an object"],
  [{ name: "a" }, "value", "is missing"],
  [{ value: 1 }, "name", "is missing"],
  [{ name: 7, value: 1 }, "name", "must be a name"],
  [{ name: "a", value: null }, "value", "is null: omit the metric if it has no value"],
  [
    { name: "a", value: "constructor" },
    "value",
    'must be a number, true, false, "NaN", "+Inf" or "-Inf"',
  ],
  [
    { name: "a", value: 1, time: 1_790_000_000_000 },
    "time",
    "must be in seconds: divide milliseconds by 1000",
  ],
  [
    { name: "a", value: 1, time: "soon" },
    "time",
    "must be Unix seconds, or a text as in 2030-01-31T12:00:00Z",
  ],
  [{ name: "a", value: 1, labels: { b: {} } }, "labels.b", "must be a text"],
  [
    {
      name: "a",
      value: 1,
      labels: Object.fromEntries(Array.from({ length: 129 }, (_, i) => [i, ""])),
    },
    "labels",
    "has more than 128 names",
  ],
  [
    { name: "a", value: 1, labels: { __name__: "b" } },
    "labels",
    '"__name__" is not a label: put the metric\'s name into name',
  ],
  [
    { name: "a", value: 1, vlaue: 2 },
    "vlaue",
    "is not known: there are job, instance, name, value, labels, time, type, help, unit",
  ],
  [{ metrics: 3 }, "metrics", "must be a list, or names with values"],
  [{ metrics: { a: [] } }, "metrics.a", 'must be a number, true, false, "NaN", "+Inf" or "-Inf"'],
])("%j is reported", (entry, at, error) => {
  const { bad, badCount, batch } = decodePush(
    JSON.stringify([entry, { name: "ok", value: 1 }]),
    nowMs,
  );
  expect(bad).toEqual([{ at: at === "" ? "[0]" : `[0].${at}`, error }]);
  expect([badCount, batch.sampleCount]).toEqual([1, 1]);
});

test("the place of a bad metric is its list's index, or its line", () => {
  const metrics = [
    { name: "a", value: 1 },
    { name: "b", value: {} },
  ];
  expect(decodePush(JSON.stringify({ metrics }), nowMs).bad[0]?.at).toBe("metrics[1].value");
  const text = '{"name":"a","value":1}\n{"name":"b"}\n';
  expect(decodePush(text, nowMs).bad[0]?.at).toBe("line 2: value");
});

test("a text that is no JSON is refused, and names its line where there are several", () => {
  expect(() => decodePush("{", nowMs)).toThrow(SyntaxError);
  expect(() => decodePush('{"name":"a","value":1}\n{"name"\n', nowMs)).toThrow(/^line 2: /);
});

test(
  "broken JSON ends in entries, in bad ones reported, or in no JSON",
  async () => {
    const samples = [
      '{"job":"bench","labels":{"a":"b"},"time":1.5,"metrics":[{"name":"x","value":42,"labels":{"c":"d"}}]}',
      '{"name":"a","value":1}\n{"name":"b","value":"NaN","time":"2030-01-31T12:00:00Z"}\n',
    ];
    const parse = (bytes: Buffer): void => {
      try {
        decodePush(bytes.toString(), nowMs);
      } catch (thrown) {
        if (thrown instanceof SyntaxError) throw new GpulseError("FILE_FORMAT", thrown.message);
        throw thrown;
      }
    };
    expect(await fuzz({ seed: 22, samples, parse })).toBe(fuzzInputs);
  },
  fuzzTimeoutMs,
);
