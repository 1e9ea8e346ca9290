// Tests how native histograms, exemplars and start times of scraped pages are added to a batch.
import { expect, test } from "vitest";
import {
  exampleFamilies,
  protobufPage,
  protobufType,
} from "../../../../test/fixtures/formats/exposition-proto.ts";
import {
  batchText,
  noLimits,
  scrapeConfig,
  textHistograms,
} from "../../../../test/fixtures/sources/scrape.ts";
import { compileRule } from "../../../formats/relabel/rule.ts";
import type { SampleBatch } from "../../../formats/samples/batch.ts";
import { readHistogram } from "../../../model/histogram/notation.ts";
import { labelSet } from "../../../model/labels.ts";
import type { ScrapeConfig } from "../config/types.ts";
import { usualReports } from "./report.ts";
import { ScrapeCache } from "./scrape-cache.ts";

const openMetrics = "application/openmetrics-text; version=1.0.0";
const nowMs = 1_700_000_000_000;
const native = { ...textHistograms, isNative: true };

function cacheOf(given: Partial<ScrapeConfig>, usesStarts = false) {
  const cache = new ScrapeCache(labelSet({ job: "j" }), usualReports, usesStarts);
  const config = scrapeConfig(given);
  return (body: Buffer | string, timeMs: number, type = protobufType) => {
    const page = Buffer.from(body);
    const { error, ...counts } = cache.takePage(page, type, timeMs, nowMs, config);
    const batch = cache.finish();
    return { counts, error: error?.message, batch, lines: batchText(batch) };
  };
}

const latency = (histogram: object): Buffer =>
  protobufPage([{ name: "latency", type: 4, metric: [{ histogram }] }]);
const buckets = (count: number): object => ({
  sample_count: count,
  schema: 3,
  positive_span: [{ offset: 1, length: count }],
  positive_delta: [1, ...Array.from({ length: count - 1 }, () => 0)],
});
const histogramsOf = ({ histograms }: SampleBatch): unknown => histograms;

test("a native histogram is one sample of its series, and ends with the page that has it no more", () => {
  const take = cacheOf({ histograms: native });
  const first = take(latency(buckets(2)), 1_000);
  expect(first.counts).toMatchObject({ scraped: 1, kept: 1, seriesAdded: 1 });
  expect(first.lines).toEqual(['latency{job="j"} NaN @1000']);
  expect(histogramsOf(first.batch)).toEqual([
    readHistogram("{{schema:3 count:2 offset:1 buckets:[1 1]}}"),
  ]);
  const other = protobufPage([{ name: "up2", type: 1, metric: [{ gauge: { value: 1 } }] }]);
  expect(take(other, 3_000).lines).toEqual([
    'up2{job="j"} 1 @3000',
    'latency{job="j"} stale @3000',
  ]);
});

test("relabelling, honor_labels and the sample limit hold for histograms", () => {
  const rule = compileRule({ source_labels: ["__name__"], regex: "latency", action: "drop" });
  const dropped = cacheOf({ histograms: native, metricRelabelRules: [rule] });
  expect(dropped(latency(buckets(2)), 1_000)).toMatchObject({
    counts: { scraped: 1, kept: 0 },
    lines: [],
  });
  const limited = cacheOf({ histograms: native, limits: { ...noLimits, samples: 1 } });
  expect(limited(protobufPage(exampleFamilies), 1_000)).toMatchObject({
    error: "sample limit exceeded (limit: 1)",
    lines: [],
  });
});

test("buckets above the limit are merged; a histogram that cannot be merged fails the scrape", () => {
  const limited = cacheOf({ histograms: { ...native, bucketLimit: 4 } });
  const { batch } = limited(latency(buckets(16)), 1_000);
  expect(batch.histograms).toMatchObject([{ schema: 1, count: 16 }]);
  const far = { sample_count: 2, positive_span: [{ length: 1 }, { offset: 90, length: 1 }] };
  const one = cacheOf({ histograms: { ...native, bucketLimit: 1 } });
  expect(one(latency({ ...far, positive_delta: [1, 0] }), 1_000)).toMatchObject({
    error: "histogram bucket limit exceeded (limit: 1)",
    lines: [],
  });
});

test("a resolution above native_histogram_min_bucket_factor is reduced", () => {
  const { batch } = cacheOf({ histograms: { ...native, maxSchema: 2 } })(
    latency(buckets(8)),
    1_000,
  );
  expect(batch.histograms).toMatchObject([{ schema: 2, count: 8 }]);
});

test("a malformed histogram is refused with its reason, the rest of the page is stored", () => {
  const page = protobufPage([
    { name: "bad", type: 4, metric: [{ histogram: { ...buckets(2), sample_count: 5 } }] },
    { name: "good", type: 4, metric: [{ histogram: buckets(2) }] },
  ]);
  const { error, lines, batch } = cacheOf({ histograms: native })(page, 1_000);
  expect([error, lines]).toEqual([undefined, ['good{job="j"} NaN @1000']]);
  expect(batch.refusedHistograms).toMatchObject([{ reason: "histogram_count_mismatch", count: 1 }]);
});

const classicPage = `# TYPE h histogram
h_bucket{le="0.5"} 2
h_bucket{le="1"} 5 # {trace_id="abc"} 0.7 5.5
h_bucket{le="+Inf"} 6
h_sum 9
h_count 6
# TYPE c counter
c_total 4
c_created 3.25
# EOF
`;

test("classic histograms are converted to custom buckets, beside the classic series where asked for", () => {
  const converted = { ...textHistograms, isConverted: true };
  const take = cacheOf({ histograms: converted });
  const { lines, batch } = take(classicPage, 1_000, openMetrics);
  expect(lines).toEqual([
    'c_total{job="j"} 4 @1000',
    'c_created{job="j"} 3.25 @1000',
    'h{job="j"} NaN @1000',
  ]);
  expect(batch.histograms).toEqual([
    readHistogram("{{schema:-53 count:6 sum:9 custom_values:[0.5 1] buckets:[2 3 1]}}"),
  ]);
  expect(take(classicPage, 2_000, openMetrics).counts).toMatchObject({
    scraped: 3,
    seriesAdded: 0,
  });
  const both = cacheOf({ histograms: { ...converted, isAlwaysClassic: true } });
  expect(both(classicPage, 1_000, openMetrics).lines).toHaveLength(8);
  const protobuf = cacheOf({ histograms: converted });
  expect(protobuf(protobufPage(exampleFamilies), 1_000).batch.histograms).toEqual([
    readHistogram("{{schema:-53 count:6 sum:9 custom_values:[0.5 1] buckets:[2 3 1]}}"),
  ]);
});

test("an exemplar comes once, until the page has another", () => {
  const take = cacheOf({});
  const { batch } = take(classicPage, 1_000, openMetrics);
  expect(batch.exemplars).toEqual([
    { series: 1, labels: [["trace_id", "abc"]], value: 0.7, timeMs: 5_500 },
  ]);
  expect(take(classicPage, 2_000, openMetrics).batch.exemplars).toBeUndefined();
  const next = classicPage.replace("abc", "def").replace(" 5.5\n", "\n");
  expect(take(next, 3_000, openMetrics).batch.exemplars).toMatchObject([{ timeMs: 3_000 }]);
});

test("starts come from protobuf and, where they are used, from _created lines; each once", () => {
  const native3 = cacheOf({ histograms: native });
  const page = protobufPage(exampleFamilies);
  expect(native3(page, 9_000).batch.starts).toMatchObject([
    { startMs: 3_250, sampleMs: 9_000 },
    { startMs: 3_000, sampleMs: 9_000, histogram: { count: 6 } },
  ]);
  expect(native3(page, 10_000).batch.starts).toBeUndefined();
  const lines = cacheOf({}, true);
  const { batch, lines: stored } = lines(classicPage, 9_000, openMetrics);
  expect(stored).not.toContain('c_created{job="j"} 3.25 @9000');
  expect(batch.starts).toEqual([{ series: 5, startMs: 3_250, sampleMs: 9_000 }]);
  const restarted = classicPage.replace("3.25", "9.5");
  expect(lines(restarted, 10_000, openMetrics).batch.starts).toMatchObject([{ startMs: 9_500 }]);
});
