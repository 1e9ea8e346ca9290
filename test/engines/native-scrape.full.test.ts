// Ten minutes of scraping: a real Prometheus 3, and Debian's 2.42 for queries with the same semantics, beside the hub.

import { expect, test } from "vitest";

import { orSkip } from "../../engines/cache.ts";
import { findPrometheus3 } from "../../engines/prometheus3.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { compareNativeScrapes, thirtyQueries } from "./native-scrape-lab.ts";

test("Prometheus 3 and the hub answer the same after ten minutes of native histograms", async (context) => {
  const program = await orSkip(context, findPrometheus3());
  const outcome = await compareNativeScrapes({
    program,
    args: ["--enable-feature=promql-delayed-name-removal,exemplar-storage"],
    forMs: 600_000,
    everyMs: 5_000,
    queries: thirtyQueries,
  });
  process.stdout.write(
    `${outcome.asked} answers of ${thirtyQueries.length} queries compared, ${outcome.different.length} differ\n`,
  );
  expect(outcome.different).toEqual([]);
  expect(outcome.answered).toBe(outcome.asked);
  expect(outcome.exemplars[1]).toEqual(outcome.exemplars[0]);
}, 900_000);

/**
 * In 2.42 quantiles are linear within a bucket, ranges are left-closed, and resets differ: queries that depend on none
 * of these.
 */
const same = [
  "request_latency_seconds",
  "margin_celsius",
  "tokens_total",
  "histogram_count(request_latency_seconds)",
  "histogram_sum(margin_celsius)",
  "sum(request_latency_seconds)",
  'rate(request_latency_seconds{gpu="0"}[9.5s])',
  "increase(margin_celsius[9.5s])",
  'histogram_count(rate(request_latency_seconds{gpu="0"}[15.5s]))',
  "count_over_time(tokens_total[15.5s])",
].map((query) => query.replaceAll(/\[(\d+)\.5s\]/g, "[$1s500ms]"));

test("Prometheus 2.42 and the hub answer the same where both mean the same", async (context) => {
  const program = toolOrSkip(context, "prometheus");
  const outcome = await compareNativeScrapes({
    program,
    args: ["--enable-feature=native-histograms"],
    job: {},
    forMs: 70_000,
    everyMs: 2_000,
    queries: same,
  });
  expect(outcome.different).toEqual([]);
  expect(outcome.answered).toBe(outcome.asked);
}, 240_000);
