// One query for each annotation in Prometheus 3's catalogue, with its text and position.
// test/engines/prometheus3.test.ts runs them on a real Prometheus.

import { expect, test } from "vitest";
import { readHistogram } from "../model/histogram/notation.ts";
import { labelSet } from "../model/labels.ts";
import { createEngine } from "./engine.ts";
import { MemoryStore } from "./memory-store.ts";
import { notes } from "./response.ts";

const store = new MemoryStore();
const put = (name: string, points: readonly (number | string)[], labels = {}): void => {
  for (const [index, point] of points.entries()) {
    const set = labelSet({ __name__: name, ...labels });
    if (typeof point === "number") store.append(set, index * 15_000, point);
    else store.appendHistogram(set, index * 15_000, readHistogram(`{{${point}}}`));
  }
};
const small = "schema:0 count:2 sum:3 buckets:[2]";
const large = "schema:0 count:4 sum:7 buckets:[4]";
const gauge = "schema:0 count:2 sum:3 counter_reset_hint:gauge buckets:[2]";
const customA = "schema:-53 count:3 sum:4 custom_values:[2] buckets:[1 2]";
const customB = "schema:-53 count:4 sum:4 custom_values:[2 4] buckets:[1 2 1]";
put("temp", [1, 2, 3]);
put("hist", [small, large, large]);
put("mixed", [1, small, 2, large]);
put("gauge_hist", [gauge, gauge, gauge]);
put("flip", [small, small, customA]);
put("flips", [small, small, small, small], { job: "a" });
put("flips", [customA, customA, customA, customA], { job: "b" });
put("flips", [small, small, customA, customA], { job: "c" });
put("bounds", [customA, customB, customB]);
put("nan_hist", Array<string>(4).fill("schema:0 count:10 sum:NaN buckets:[2 4]"));
put("series", [small, small], { job: "a" });
put("series", [1, 2], { job: "b" });
put("pair", [small, small, small], { job: "a" });
put("pair", [customA, customA, customA], { job: "b" });
put("custom", [customA, customA], { job: "a" });
put("custom", [customB, customB], { job: "b" });
put("resets", [large, small], { job: "a" });
put("resets", [small, large], { job: "b" });
put("req_bucket", [5, 6], { le: "1" });
put("req_bucket", [3, 4], { le: "2" });
put("req_bucket", [8, 9], { le: "+Inf" });
put("odd_bucket", [5, 6], { le: "one" });
put("both", [small, small]);
put("both", [5, 6], { le: "1" });
put("both", [8, 9], { le: "+Inf" });

const docs = "https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_quantile";

test.for<readonly [query: string, kind: "warning" | "info", text: string]>([
  [
    "limit_ratio(2, temp)",
    "warning",
    "ratio value should be between -1 and 1, got 2, capping to 1 (1:13)",
  ],
  ["quantile(1.5, temp)", "warning", "quantile value should be between 0 and 1, got 1.5 (1:10)"],
  [
    "quantile(((1.5)), temp)",
    "warning",
    "quantile value should be between 0 and 1, got 1.5 (1:12)",
  ],
  ["stddev without (le) (((hist)))", "info", "ignored histogram in stddev aggregation (1:24)"],
  [
    "1 +\n histogram_quantile(NaN, hist)",
    "warning",
    "quantile value should be between 0 and 1, got NaN (2:21)",
  ],
  [
    "histogram_quantile(0.5, odd_bucket)",
    "warning",
    'bucket label "le" is missing or has a malformed value of "one" for metric name "odd_bucket" (1:25)',
  ],
  [
    "rate(mixed[1m])",
    "warning",
    'encountered a mix of histograms and floats for metric name "mixed" (1:6)',
  ],
  ["sum(series)", "warning", "encountered a mix of histograms and floats for aggregation (1:5)"],
  [
    "histogram_quantile(0.5, both)",
    "warning",
    'vector contains a mix of classic and native histograms for metric name "both" (1:25)',
  ],
  [
    "rate(gauge_hist[1m])",
    "warning",
    'this native histogram metric is not a counter: "gauge_hist" (1:6)',
  ],
  ["delta(hist[1m])", "warning", 'this native histogram metric is not a gauge: "hist" (1:7)'],
  [
    "rate(flip[1m])",
    "warning",
    'vector contains a mix of histograms with exponential and custom buckets schemas for metric name "flip" (1:6)',
  ],
  [
    'pair{job="a"} + ignoring (job) pair{job="b"}',
    "warning",
    "incompatible bucket layout encountered for binary operator + (1:1)",
  ],
  [
    "histogram_count(sum(resets))",
    "warning",
    "conflicting counter resets during histogram aggregation (1:21)",
  ],
  [
    'histogram_sum(resets{job="a"} - ignoring (job) resets{job="b"})',
    "warning",
    "conflicting counter resets during histogram subtraction (1:15)",
  ],
  [
    "rate(temp[1m])",
    "info",
    'metric might not be a counter, name does not end in _total/_sum/_count/_bucket: "temp" (1:6)',
  ],
  [
    "histogram_quantile(0.5, req_bucket)",
    "info",
    `input to histogram_quantile needed to be fixed for monotonicity (see ${docs}) for metric name "req_bucket", from buckets 2 to 2, with a max diff of 2, over 1 samples from 1970-01-01T00:00:45Z to 1970-01-01T00:00:45Z (1:25)`,
  ],
  [
    "hist + 1",
    "info",
    'incompatible sample types encountered for binary operator "+": histogram + float (1:1)',
  ],
  [
    "temp </ 1",
    "info",
    'incompatible sample types encountered for binary operator "</": float </ float (1:1)',
  ],
  ["max(hist)", "info", "ignored histogram in max aggregation (1:5)"],
  ["topk(1, hist)", "info", "ignored histogram in topk aggregation (1:1)"],
  [
    "max_over_time(mixed[1m])",
    "info",
    'ignored histograms in a range containing both floats and histograms for metric name "mixed" (1:15)',
  ],
  [
    "histogram_quantile(0.9, nan_hist)",
    "info",
    'input to histogram_quantile has NaN observations, result is NaN for metric name "nan_hist" (1:25)',
  ],
  [
    "histogram_quantile(0.1, nan_hist)",
    "info",
    'input to histogram_quantile has NaN observations, result is skewed higher for metric name "nan_hist" (1:25)',
  ],
  [
    "histogram_fraction(0, 1, nan_hist)",
    "info",
    'input to histogram_fraction has NaN observations, which are excluded from all fractions for metric name "nan_hist" (1:26)',
  ],
  ["sum(custom)", "info", "mismatched custom buckets were reconciled during aggregation (1:5)"],
  [
    "rate(bounds[1m])",
    "info",
    "mismatched custom buckets were reconciled during subtraction (1:6)",
  ],
  [
    'custom{job="a"} + ignoring (job) custom{job="b"}',
    "info",
    "mismatched custom buckets were reconciled during addition (1:1)",
  ],
])("%s: %s %s", async ([query, kind, text]) => {
  const { warnings, infos } = await createEngine().instant(query, 45_000, store);
  expect(kind === "warning" ? warnings : infos).toContain(`PromQL ${kind}: ${text}`);
});

test("sort has no effect over a range", async () => {
  const { warnings } = await createEngine().range("sort(temp)", 0, 45_000, 15_000, store);
  expect(warnings).toEqual([
    "PromQL warning: sort is ineffective for range queries since results are always ordered by labels (1:1)",
  ]);
});

test("in a range query, a subquery of a single step is a range", async () => {
  const query = "predict_linear((sort(temp))[15s:15s] @ 30, 0)";
  const { warnings } = await createEngine().range(query, 0, 45_000, 15_000, store);
  expect(warnings).toEqual([
    "PromQL warning: sort is ineffective for range queries since results are always ordered by labels (1:17)",
  ]);
});

test("with type and unit labels the type says what a counter is", async () => {
  const typed = new MemoryStore();
  const labels = labelSet({ __name__: "temp", __type__: "gauge" });
  typed.append(labels, 0, 1);
  typed.append(labels, 15_000, 2);
  const engine = createEngine({ typeAndUnitLabels: true });
  const { infos } = await engine.instant("rate(temp[1m])", 15_000, typed);
  expect(infos).toEqual([
    'PromQL info: metric might not be a counter, __type__ label is not set to "counter" or "histogram", got "gauge": "temp" (1:6)',
  ]);
});

test("equal sentences are listed once, at the position of the last; counted ones at that of the first", async () => {
  const ask = async (query: string): Promise<readonly string[]> => {
    const { warnings, infos } = await createEngine().instant(query, 45_000, store);
    return [...warnings, ...infos].map((text) => /\((\d+:\d+)\)$/.exec(text)?.[1] ?? "");
  };
  expect(await ask("max(hist) + max(hist)")).toEqual(["1:17"]);
  // Series by series, the subquery's own warning follows that of the aggregation around it.
  expect(await ask("avg(increase((flips)[1m:15s]))")).toEqual(["1:5"]);
  const quantile = "histogram_quantile(0.5, req_bucket)";
  expect(await ask(`${quantile} + ${quantile}`)).toEqual(["1:25"]);
});

test("of an expression and one within it, the outer one is the last to raise a sentence", async () => {
  const layouts = new MemoryStore();
  const kinds = { a: [small, small], b: [customA, customA], c: [small, customA] };
  for (const [job, points] of Object.entries(kinds))
    points.forEach((point, index) => {
      const histogram = readHistogram(`{{${point}}}`);
      layouts.appendHistogram(labelSet({ __name__: "m", job }), index * 15_000, histogram);
    });
  const { warnings } = await createEngine().instant("sum(avg_over_time(m[1m]))", 15_000, layouts);
  expect(warnings).toEqual([
    'PromQL warning: vector contains a mix of histograms with exponential and custom buckets schemas for metric name "m" (1:5)',
  ]);
});

test("a float that comes first ends the look at the histograms of its group", async () => {
  const mixed = new MemoryStore();
  const ofJob = (job: string) => labelSet({ __name__: "m", job });
  mixed.append(ofJob("a"), 0, 1);
  mixed.appendHistogram(ofJob("b"), 0, readHistogram(`{{${small}}}`));
  mixed.appendHistogram(ofJob("c"), 0, readHistogram(`{{${customA}}}`));
  const { warnings } = await createEngine().instant("sum(m)", 0, mixed);
  expect(warnings).toEqual([
    "PromQL warning: encountered a mix of histograms and floats for aggregation (1:5)",
  ]);
});

test("a response lists ten annotations of each kind, and how many more there are", () => {
  const texts = Array.from({ length: 13 }, (_, index) => `w${index}`);
  expect(JSON.parse(`{"data":1${notes(texts, texts.slice(0, 10))}}`)).toEqual({
    data: 1,
    warnings: [...texts.slice(0, 10), "3 more warning annotations omitted"],
    infos: texts.slice(0, 10),
  });
});
