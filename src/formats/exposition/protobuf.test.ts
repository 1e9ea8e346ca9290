// Tests the protobuf exposition with pages written by protobufjs.
import { expect, test } from "vitest";
import { exampleFamilies, protobufPage } from "../../../test/fixtures/formats/exposition-proto.ts";
import { fuzzInputs, fuzzTimeoutMs, mutate, seededRandom } from "../../../test/fuzz/mutate.ts";
import { isFault } from "../../model/histogram/check.ts";
import { readHistogram } from "../../model/histogram/notation.ts";
import type { LabelSet } from "../../model/labels.ts";
import { ProtoError } from "../protobuf/reader.ts";
import { BatchTooLargeError } from "../samples/labels.ts";
import { openMetricsFloat } from "./open-metrics-float.ts";
import { parseProtobufPage } from "./protobuf.ts";
import { SeriesMemory } from "./series-memory.ts";

const nameOf = (labels: LabelSet): string =>
  labels.map(([name, value]) => (name === "__name__" ? value : `${name}=${value}`)).join(" ");

function read(page: Buffer, options = {}, memory = new SeriesMemory<string>()) {
  const lines: string[] = [];
  const histograms: unknown[] = [];
  parseProtobufPage(
    page,
    memory,
    {
      open: (labels, emptied) => nameOf(labels) + emptied.map((name) => ` no ${name}`).join(""),
      sample: (series, value, timeMs) =>
        void lines.push(`${series} ${value}${timeMs === undefined ? "" : ` @${timeMs}`}`),
      histogram: (series, checked) => {
        lines.push(`${series} ${isFault(checked) ? checked.reason : "histogram"}`);
        histograms.push(checked);
      },
      exemplar: (series, { labels, value, timeMs }) =>
        void lines.push(`${series} # ${nameOf(labels)} ${value} @${timeMs}`),
      start: (series, startMs) => void lines.push(`${series} since ${startMs}`),
      metadata: (kind, family, text) => void lines.push(`${kind} ${family} ${text}`),
    },
    { hasNative: true, alwaysClassic: false, ...options },
  );
  return { lines, histograms };
}

test("every kind of metric, with exemplars, starts, times and metadata", () => {
  const { lines, histograms } = read(protobufPage(exampleFamilies));
  expect(lines).toEqual([
    "type requests_total counter",
    "help requests_total Requests.",
    "requests_total code=200 7",
    "requests_total code=200 since 3250",
    "requests_total code=200 # trace_id=abc 1 @5006",
    "requests_total no code 1",
    "type load gauge",
    "load 0.5 @9000",
    "type rpc_seconds summary",
    "unit rpc_seconds seconds",
    "rpc_seconds_count 3",
    "rpc_seconds_sum 4.5",
    "rpc_seconds quantile=0.5 1",
    "rpc_seconds quantile=1.0 2",
    "type thing unknown",
    "thing 4",
    "type latency_seconds histogram",
    "help latency_seconds Latency.",
    "latency_seconds histogram",
    "latency_seconds since 3000",
    "latency_seconds # trace_id=def 0.7 @6000",
    "type queue gaugehistogram",
    "queue histogram",
  ]);
  expect(histograms).toEqual([
    readHistogram("{{count:6 sum:9 z_bucket:1 z_bucket_w:0.001 offset:-1 buckets:[1 4]}}"),
    readHistogram("{{count:2.5 sum:9 buckets:[2.5] counter_reset_hint:gauge}}"),
  ]);
});

const classic = [
  "latency_seconds_count 6",
  "latency_seconds_sum 9",
  "latency_seconds_bucket le=0.5 2",
  "latency_seconds_bucket le=1.0 5",
  "latency_seconds_bucket le=+Inf 6",
];
const ofLatency = (lines: string[]): string[] =>
  lines.filter(
    (line) => line.startsWith("latency") && !line.includes(" since ") && !line.includes("#"),
  );

test("classic buckets come beside native ones where asked for, and alone where native ones are not", () => {
  const page = protobufPage(exampleFamilies);
  expect(ofLatency(read(page, { alwaysClassic: true }).lines)).toEqual([
    "latency_seconds histogram",
    ...classic,
  ]);
  expect(ofLatency(read(page, { hasNative: false }).lines)).toEqual(classic);
});

test("a histogram without observations says by an empty span that it is native", () => {
  const empty = { name: "h", type: 4, metric: [{ histogram: { positive_span: [{}] } }] };
  expect(read(protobufPage([empty])).histograms).toEqual([readHistogram("{{}}")]);
});

test("a malformed histogram comes with its reason, and the rest of the page is read", () => {
  const bad = { schema: 40, positive_span: [{ length: 3 }], sample_count: 1 };
  const page = protobufPage([
    { name: "h", type: 4, metric: [{ histogram: bad }] },
    { name: "g", type: 1, metric: [{ gauge: { value: 1 } }] },
  ]);
  expect(read(page).lines).toEqual([
    "type h histogram",
    "h histogram_spans",
    "type g gauge",
    "g 1",
  ]);
});

test("a series is opened once across pages and forgotten with the page that has it no more", () => {
  const memory = new SeriesMemory<string>();
  const page = protobufPage(exampleFamilies);
  read(page, {}, memory);
  const { size } = memory;
  read(page, {}, memory);
  memory.endPage(() => undefined);
  expect(memory.size).toBe(size);
  const gone: string[] = [];
  read(protobufPage(exampleFamilies.slice(0, 1)), {}, memory);
  memory.endPage((series) => gone.push(series));
  expect([gone.length, memory.size]).toEqual([size - 2, 2]);
});

test.for<[object, RegExp]>([
  [{ name: "" }, /has no name/],
  [{ name: "x", type: 9 }, /metric type 9/],
  [{ name: "x", metric: [{ label: [{ name: "", value: "v" }] }] }, /label has no name/],
  [
    {
      name: "x",
      metric: [
        {
          label: [
            { name: "a", value: "1" },
            { name: "a", value: "2" },
          ],
        },
      ],
    },
    /occurs twice/,
  ],
])("%j is no page", ([family, reason]) => {
  expect(() => read(protobufPage([family]))).toThrow(reason);
});

test("a page cut at any byte is read or refused", () => {
  const page = protobufPage(exampleFamilies);
  for (let length = 0; length < page.length; length++)
    try {
      read(page.subarray(0, length));
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(ProtoError);
    }
});

test(
  "broken bytes end in series or in our error, never in a hang",
  () => {
    const random = seededRandom(31);
    const page = protobufPage(exampleFamilies);
    for (let count = 0; count < fuzzInputs; count++)
      try {
        read(mutate([page], random));
      } catch (thrown) {
        if (!(thrown instanceof ProtoError || thrown instanceof BatchTooLargeError)) throw thrown;
      }
  },
  fuzzTimeoutMs,
);

test.for<[number, string]>([
  [0, "0.0"],
  [1, "1.0"],
  [0.25, "0.25"],
  [1e-4, "0.0001"],
  [2.5e-5, "2.5e-05"],
  [999_999, "999999.0"],
  [1e6, "1e+06"],
  [1e21, "1e+21"],
  [-0.5, "-0.5"],
  [Infinity, "+Inf"],
  [-Infinity, "-Inf"],
])("%d is the bound %s", ([value, text]) => {
  expect(openMetricsFloat(value)).toBe(text);
});
